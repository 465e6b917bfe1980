// The summary at the top of the page.
import * as format from "./format.ts";
import { h, name } from "./dom.ts";
import type { Known, Run } from "./data.ts";

function figure(title: string, value: string, more: string | null = null): HTMLElement {
    return h(
        "div",
        { class: "figure" },
        h("dt", {}, title),
        h("dd", {}, value, more === null ? null : h("small", {}, more)),
    );
}

function each(run: Run, word: string, count: Known): HTMLElement | null {
    if (count === null || count <= 1) return null; // for a single one it is the total
    const s = run.summary;
    const part = (value: Known): Known => (value === null ? null : value / count);
    return figure(
        `a ${word}`,
        format.energyWithin(part(s.total_energy_j), part(s.total_energy_low_j), part(s.total_energy_high_j)),
        `${format.count(count)} ${word}s`,
    );
}

export function summarySection(run: Run): HTMLElement {
    const s = run.summary;
    const power = s.total_energy_j === null || !s.duration_s ? null : s.total_energy_j / s.duration_s;
    const idle = s.total_energy_j && s.idle_energy_j !== null ? s.idle_energy_j / s.total_energy_j : null;
    return h(
        "section",
        { id: "summary", "aria-label": "Summary" },
        h(
            "dl",
            { class: "figures" },
            figure(
                "energy",
                format.energyWithin(s.total_energy_j, s.total_energy_low_j, s.total_energy_high_j),
                "95 %, by the GPU's own sensor",
            ),
            figure("time", format.time(s.duration_s)),
            figure("mean power", format.watts(power)),
            each(run, "step", s.steps),
            each(run, "sample", s.samples),
            each(run, "token", s.tokens),
            figure("without a kernel", format.share(idle), format.energy(s.idle_energy_j)),
        ),
        h(
            "dl",
            { class: "answers" },
            ...run.facts.flatMap(([what, text]) => [
                h("dt", {}, what),
                h("dd", { class: what === "verdict" ? `verdict verdict-${s.quality.verdict}` : null }, name(text)),
            ]),
        ),
    );
}
