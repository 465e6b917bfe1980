// The summary at the top of the page.
import * as format from "./format.ts";
import { figure, h, name } from "./dom.ts";
import type { Known, Run } from "./data.ts";

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

/** What a sample or a token of the steady steps takes, else one of the run. */
function unit(run: Run, word: "sample" | "token", of: Known): HTMLElement | null {
    const s = run.summary;
    const [steps, count] = [s["steady_steps"], s[`steady_${word}s`]];
    if (typeof s["steady_step_j"] !== "number" || typeof steps !== "number" || typeof count !== "number" || count < 1)
        return each(run, word, of);
    const part = (key: string): Known => (typeof s[key] === "number" ? ((s[key] as number) * steps) / count : null);
    return figure(
        `a ${word}`,
        format.energyWithin(part("steady_step_j"), part("steady_step_low_j"), part("steady_step_high_j")),
        `${format.count(count)} ${word}s of steady steps`,
    );
}

/** What a step of the usual kind takes; null: the run has no such steps. */
function step(run: Run): HTMLElement | null {
    const s = run.summary;
    const part = (key: string): Known => (typeof s[key] === "number" ? (s[key] as number) : null);
    if (part("steady_step_j") === null) return each(run, "step", s.steps);
    const phase = typeof s["step_phase"] === "string" && s["step_phase"] !== "" ? ` of ${s["step_phase"]}` : "";
    return figure(
        `a step${phase}`,
        format.energyWithin(part("steady_step_j"), part("steady_step_low_j"), part("steady_step_high_j")),
        `${format.time(part("steady_step_s"))}, ${format.count(part("steady_steps"))} steady steps`,
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
            step(run),
            unit(run, "sample", s.samples),
            unit(run, "token", s.tokens),
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
