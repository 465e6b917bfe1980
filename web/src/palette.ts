// Colours that the colour-blind can distinguish (after Okabe and Ito), light enough for black text.
import type { Known, Lines } from "./data.ts";

export const KNOWN: Record<string, string> = {
    measured: "#5aa9dd",
    fitted: "#a5d3f0",
    counters: "#86d0bd",
    isolated: "#c3e29a",
    given: "#f1e58a",
    weak: "#edb36b",
    unresolved: "#c9c7c2",
};

const GREY = "#c9c7c2";

/** From low to high: one hue, lighter to darker. */
const SEQUENCE = ["#fdf1d9", "#fbdca8", "#f5c179", "#e9a257", "#d98742"];

/** From much less to much more. */
const CHANGE = ["#5f9fd8", "#8fbfe6", "#bfdaf0", "#e9e7e1", "#f8d9b4", "#f0b577", "#dd8a3f"];

/** The change at which the strongest colour begins. */
const STRONG = 0.2;

export type Colouring = "power" | "time" | "own" | "known" | "change";

/** Darkest and lightest of a colouring, for its legend. */
export const ENDS: Record<"sequence" | "change", readonly [string, string]> = {
    sequence: [SEQUENCE[0]!, SEQUENCE[SEQUENCE.length - 1]!],
    change: [CHANGE[0]!, CHANGE[CHANGE.length - 1]!],
};

function ofSequence(share: number): string {
    const at = Math.min(SEQUENCE.length - 1, Math.max(0, Math.floor(share * SEQUENCE.length)));
    return SEQUENCE[at]!;
}

function ofChange(change: Known): string {
    if (change === null) return GREY;
    const middle = (CHANGE.length - 1) / 2;
    return CHANGE[Math.round(middle + middle * Math.max(-1, Math.min(1, change / STRONG)))]!;
}

/** Idle time and what is outside of all work: grey where colours say what work draws. */
export function isWork(lines: Lines, i: number): boolean {
    return !/^(idle|gap|outside|unresolved|sampling|unrecorded|wait)$/.test(lines.kind[i]!);
}

/** What colours of frames are relative to. */
export interface Colours {
    lines: Lines;
    colouring: Colouring;
    mostW: number;
    mostS: number;
    /** The change of each line, where there are two runs. */
    change: ((i: number) => Known) | null;
}

export function coloursOf(lines: Lines, colouring: Colouring, change: Colours["change"]): Colours {
    const work = lines.name.map((_, i) => i).filter((i) => isWork(lines, i));
    return {
        lines,
        colouring,
        mostW: Math.max(0, ...work.map((i) => lines.power_w[i] ?? 0)),
        mostS: Math.max(0, ...work.map((i) => lines.busy_s[i] ?? 0)),
        change,
    };
}

/** The colour of a frame; the omitted rest is grey. */
export function frameColour({ lines, colouring, mostW, mostS, change }: Colours, i: number): string {
    if (i < 0) return "#dddbd5";
    if (colouring === "known") return KNOWN[lines.known[i]!] ?? GREY;
    if (colouring === "change") return change === null ? GREY : ofChange(change(i));
    if (!isWork(lines, i)) return GREY;
    if (colouring === "own") {
        const energy = lines.energy_j[i];
        const own = lines.own_j[i];
        return energy === null || own === null || !energy || own === undefined ? GREY : ofSequence(own / energy!);
    }
    if (colouring === "time") return mostS > 0 ? ofSequence(lines.busy_s[i]! / mostS) : GREY;
    const power = lines.power_w[i];
    return power === null || power === undefined || mostW <= 0 ? GREY : ofSequence(power / mostW);
}

/** Lines of a chart, one per GPU. */
export const SERIES = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6"] as const;
