// Statistics of series: power in an interval, typical steps.
import type { Band, BoardPower, Known, Power, Steps } from "./data.ts";
import type { Range } from "./range.ts";

/** The middle of each bin, seconds from the start of the recording. */
export function middles(power: Power): number[] {
    const bins = power.boards[0]?.mean_w.length ?? 0;
    const from = power.from_s ?? 0;
    const width = ((power.to_s ?? 0) - from) / Math.max(1, bins);
    return Array.from({ length: bins }, (_, i) => from + (i + 0.5) * width);
}

export interface Interval {
    /** Mean over the part with readings. */
    mean_w: Known;
    least_w: Known;
    most_w: Known;
    clock_mhz: Known;
    energy_j: Known;
}

/** A board's power in the bins that begin in the range; null without readings. */
export function intervalOf(board: BoardPower, times: readonly number[], range: Range): Interval {
    const inside = times.map((_, i) => i).filter((i) => times[i]! >= range.from && times[i]! <= range.to);
    const pick = (column: readonly Known[]): number[] =>
        inside.map((i) => column[i]!).filter((value): value is number => value !== null);
    const seen = inside.filter((i) => board.mean_w[i] !== null);
    const seconds = seen.reduce((sum, i) => sum + board.seen_s[i]!, 0);
    const energy = seen.reduce((sum, i) => sum + board.mean_w[i]! * board.seen_s[i]!, 0);
    return {
        mean_w: seconds > 0 ? energy / seconds : null,
        least_w: extreme(pick(board.least_w), Math.min),
        most_w: extreme(pick(board.most_w), Math.max),
        clock_mhz: average(pick(board.clock_mhz)),
        energy_j: seconds > 0 ? energy : null,
    };
}

function extreme(values: readonly number[], better: (a: number, b: number) => number): Known {
    return values.length > 0 ? values.reduce((a, b) => better(a, b)) : null;
}

function average(values: readonly number[]): Known {
    return values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : null;
}

/** The line for the name of each band, from 0: the first without another band at that time. */
export function lanesOf(bands: readonly Band[]): number[] {
    const ends: number[] = [];
    return bands.map(({ from_s, to_s }) => {
        const free = ends.findIndex((end) => end <= from_s);
        const lane = free < 0 ? ends.length : free;
        ends[lane] = to_s;
        return lane;
    });
}

export interface StepLike {
    what: string;
    /** Its point in the series. */
    at: number;
}

/** The first, the lowest, the median and the highest; the first of equal ones. */
export function notable(steps: Steps): StepLike[] {
    const known = steps.energy_j.map((_, i) => i).filter((i) => steps.energy_j[i] !== null);
    if (known.length === 0) return [];
    const order = [...known].sort((a, b) => steps.energy_j[a]! - steps.energy_j[b]! || a - b);
    return [
        { what: "first", at: known[0]! },
        { what: "least", at: order[0]! },
        { what: "median", at: order[Math.floor((order.length - 1) / 2)]! },
        { what: "most", at: order[order.length - 1]! },
    ];
}
