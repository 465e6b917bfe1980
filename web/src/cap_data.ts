// Data of a power cap search for the page's table and chart.
import type { CapPrediction, CapQuantity, CapSearch, Figure95 } from "./data.ts";

export const QUANTITIES: readonly (readonly [CapQuantity, string])[] = [
    ["time", "time"],
    ["energy", "energy"],
    ["edp", "EDP"],
    ["ed2p", "ED2P"],
];

export function isSameCap(a: number, b: number): boolean {
    return Math.abs(a - b) < 0.5;
}

/** 0.123 as "12.3". */
function percent(share: number): string {
    return (100 * share).toFixed(1);
}

/** "96.1 ±4.1 %", or a range if it is wide. */
export function shareWithin([value, low, high]: Figure95): string {
    const half = (high - low) / 2;
    if (half < 0.0005) return `${percent(value)} %`; // as measured
    return half > 0.1 * value
        ? `${(100 * low).toFixed(0)} to ${(100 * high).toFixed(0)} %`
        : `${percent(value)} ±${percent(half)} %`;
}

/** The tried caps, highest first, each with the numbers of its trials; trials of the proof are only counted. */
export function tried(search: CapSearch): { cap: CapPrediction; numbers: number[]; proof: number }[] {
    return search.caps
        .map((cap) => {
            const trials = search.trials.filter((trial) => isSameCap(trial.cap_w, cap.cap_w));
            const numbers = trials.filter((trial) => trial.stage !== "proof").map((trial) => trial.number);
            return { cap, numbers, proof: trials.length - numbers.length };
        })
        .filter(({ numbers, proof }) => numbers.length + proof > 0)
        .reverse();
}

/** "1, 5 to 8" */
export function ranges(numbers: readonly number[]): string {
    const runs: [number, number][] = [];
    for (const number of numbers) {
        const last = runs.at(-1);
        if (last !== undefined && number === last[1] + 1) last[1] = number;
        else runs.push([number, number]);
    }
    return runs.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`)).join(", ");
}

/** "-47.6 ±1.3 %", for a share of increase (sign 1) or decrease (sign -1). */
function change([value, low, high]: Figure95, sign: 1 | -1): string {
    const share = sign * value;
    return `${share > 0 ? "+" : ""}${percent(share)} ±${percent((high - low) / 2)} %`;
}

/** The result of the search in a sentence. */
export function sentence(search: CapSearch): string {
    const reference = `${search.reference_w.toFixed(0)} W`;
    if (search.verdict === "no difference")
        return `The cap makes no difference to this work: it stays at ${reference}.`;
    if (search.verdict === "as it is") return `No other cap that was tried is better than ${reference}.`;
    const sure = search.verdict === "better" ? "is better" : "may be better";
    const begin = `${search.chosen_w.toFixed(0)} W ${sure} than ${reference}`;
    const { saving, slowdown } = search;
    if (saving === null || slowdown === null) return `${begin}; how much it saves was not proven.`;
    return `${begin}: energy ${change(saving, -1)} (95 %), time ${change(slowdown, 1)}.`;
}
