// The tables of a run: by the report's key, and by kernel.
import { choice, h, section } from "./dom.ts";
import { LinesTable } from "./table.ts";
import type { Lines, Run } from "./data.ts";

const LIMIT = 200;
const KERNELS = 25;

type Per = "step" | "run";
type Fold = "folded" | "rows";

export function tableSection(run: Run): HTMLElement {
    const { summary } = run;
    const steps = summary.steps ?? 0;
    const box = h("div");
    let per: Per = steps > 1 ? "step" : "run";
    let fold: Fold = run.folded !== null ? "folded" : "rows";
    const draw = (): void => {
        box.replaceChildren(
            new LinesTable({
                caption: `Energy by ${summary.by}${per === "step" ? ", of a step" : ""}; ± is half of the 95 % interval`,
                by: summary.by,
                lines: fold === "folded" ? run.folded! : run.rows,
                per: per === "step" ? steps : 1,
                perWord: "step",
                kernels: summary.by === "kernel",
                open: summary.by !== "kernel",
                limit: LIMIT,
            }).element,
        );
    };
    const controls = h("div", { class: "controls" });
    if (run.folded !== null)
        controls.append(
            choice<Fold>(
                "Equal layers",
                [
                    ["folded", "together"],
                    ["rows", "one by one"],
                ],
                fold,
                (value) => {
                    fold = value;
                    draw();
                },
            ),
        );
    if (steps > 1)
        controls.append(
            choice<Per>(
                "Energy of",
                [
                    ["step", "a step"],
                    ["run", "the run"],
                ],
                per,
                (value) => {
                    per = value;
                    draw();
                },
            ),
        );
    draw();
    return section(
        "table",
        `By ${summary.by}`,
        controls,
        box,
        h(
            "p",
            { class: "note" },
            "A row holds the energy of all that is in it. Known: measured; fitted (by the fit of the sensor's readings); counters (hardware counters); isolated; given; weak (mostly assumption); unresolved (the data cannot tell it from its neighbours).",
        ),
    );
}

export function kernelsSection(kernels: Lines): HTMLElement {
    const table = new LinesTable({
        caption: "Energy by kernel; ± is half of the 95 % interval",
        by: "kernel",
        lines: kernels,
        per: 1,
        perWord: "run",
        kernels: true,
        open: false,
        limit: KERNELS,
    });
    return section("kernels", "Kernels", table.element);
}
