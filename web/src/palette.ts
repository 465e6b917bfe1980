// Colours that the colour-blind can distinguish (after Okabe and Ito), light enough for black text.
import type { Lines } from "./data.ts";

export const KNOWN: Record<string, string> = {
    measured: "#5aa9dd",
    fitted: "#a5d3f0",
    counters: "#86d0bd",
    isolated: "#c3e29a",
    given: "#f1e58a",
    weak: "#edb36b",
    unresolved: "#c9c7c2",
};

/** From low to high: one hue, lighter to darker. */
const SEQUENCE = ["#fdf1d9", "#fbdca8", "#f5c179", "#e9a257", "#d98742"];

export type Colouring = "known" | "own" | "power";

function ofSequence(share: number): string {
    const at = Math.min(SEQUENCE.length - 1, Math.max(0, Math.floor(share * SEQUENCE.length)));
    return SEQUENCE[at]!;
}

/** The colour of a frame; idle time and the omitted rest are grey. */
export function frameColour(lines: Lines, i: number, colouring: Colouring, mostW: number): string {
    if (i < 0) return "#dddbd5";
    if (colouring === "known") return KNOWN[lines.known[i]!] ?? "#c9c7c2";
    if (colouring === "own") {
        const energy = lines.energy_j[i];
        const own = lines.own_j[i];
        return energy === null || own === null || !energy || own === undefined ? "#c9c7c2" : ofSequence(own / energy!);
    }
    const power = lines.power_w[i];
    return power === null || power === undefined || mostW <= 0 ? "#c9c7c2" : ofSequence(power / mostW);
}

/** Lines of a chart, one per GPU. */
export const SERIES = ["--series-1", "--series-2", "--series-3", "--series-4", "--series-5", "--series-6"] as const;
