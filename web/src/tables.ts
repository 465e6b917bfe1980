// The tables of a run: by the report's key, and by kernel.
import { choice, h, section } from "./dom.ts";
import { LinesTable } from "./table.ts";
import type { TableOptions } from "./table.ts";
import type { Known, Lines, Run } from "./data.ts";

const LIMIT = 200;
const KERNELS = 25;

type Per = "step" | "run";
type Fold = "folded" | "rows";

function hasSteps({ summary, rows }: Run): boolean {
    const isPhases = summary.by === "phase" && summary.phase === null; // a step is of one phase
    return !isPhases && (summary["steady_step_j"] ?? null) !== null && rows.step_j.some((joules) => joules !== null);
}

/** The same lines with the figures of a steady step, which takes `step_j`. */
function ofStep(lines: Lines, step_j: number): Lines {
    const ratio = (of: Known, whole: Known): Known => (of !== null && whole !== null && whole > 0 ? of / whole : null);
    return {
        ...lines,
        busy_s: lines.step_s.map((seconds) => seconds ?? 0),
        energy_j: lines.step_j,
        low_j: lines.step_low_j,
        high_j: lines.step_high_j,
        power_w: lines.step_j.map((joules, i) => ratio(joules, lines.step_s[i]!)),
        share: lines.step_j.map((joules) => ratio(joules, step_j)),
    };
}

/** A table that is kept as long as its rows are of the same kind. */
class Kept {
    readonly element = h("div");
    private table: LinesTable | null = null;
    private kind = "";

    update(kind: string, options: TableOptions): void {
        if (this.table !== null && this.kind === kind) {
            this.table.update(options);
            return;
        }
        this.kind = kind;
        this.table = new LinesTable(options);
        this.element.replaceChildren(this.table.element);
    }
}

export class RowsTable {
    readonly element: HTMLElement;
    private readonly title: HTMLElement;
    private readonly controls = h("div", { class: "controls" });
    private readonly kept = new Kept();
    private run: Run | null = null;
    private chosen: string | null = null;
    private per: Per = "step";
    private fold: Fold = "folded";

    constructor(private readonly choose: (path: string) => void) {
        this.element = section(
            "table",
            "Rows",
            this.controls,
            this.kept.element,
            h(
                "p",
                { class: "note" },
                "A row holds the energy of all that is in it. Known: measured; fitted (by the fit of the sensor's readings); counters (hardware counters); isolated; given; weak (mostly assumption); unresolved (the data cannot tell it from its neighbours).",
            ),
        );
        this.title = this.element.querySelector("h2")!;
    }

    update(run: Run, chosen: string | null): void {
        const fits =
            this.run !== null &&
            (this.run.folded === null) === (run.folded === null) &&
            hasSteps(this.run) === hasSteps(run);
        this.run = run;
        this.chosen = chosen;
        this.title.textContent = `By ${run.summary.by}`;
        if (!fits) this.makeControls();
        this.draw();
    }

    private draw(): void {
        const { summary, folded, rows } = this.run!;
        const perStep = this.per === "step" && hasSteps(this.run!);
        const together = this.fold === "folded" && folded !== null;
        const lines = together ? folded : rows;
        this.kept.update(`${summary.by} ${together}`, {
            caption: `Energy by ${summary.by}${perStep ? ", of a steady step" : ""}; ± is half of the 95 % interval`,
            by: summary.by,
            lines: perStep ? ofStep(lines, summary["steady_step_j"] as number) : lines,
            per: perStep ? "step" : null,
            kernels: summary.by === "kernel",
            open: summary.by !== "kernel",
            limit: LIMIT,
            choose: summary.by === "layer" ? this.choose : null,
            chosen: this.chosen,
        });
    }

    private makeControls(): void {
        const { folded } = this.run!;
        this.controls.replaceChildren();
        if (folded !== null)
            this.controls.append(
                choice<Fold>(
                    "Equal layers",
                    [
                        ["folded", "together"],
                        ["rows", "one by one"],
                    ],
                    this.fold,
                    (value) => {
                        this.fold = value;
                        this.draw();
                    },
                ),
            );
        if (hasSteps(this.run!))
            this.controls.append(
                choice<Per>(
                    "Energy of",
                    [
                        ["step", "a step"],
                        ["run", "the run"],
                    ],
                    this.per,
                    (value) => {
                        this.per = value;
                        this.draw();
                    },
                ),
            );
    }
}

export class KernelsTable {
    readonly element: HTMLElement;
    private readonly kept = new Kept();

    constructor() {
        this.element = section("kernels", "Kernels", this.kept.element);
    }

    update(run: Run): void {
        const { kernels } = run;
        this.element.hidden = !kernels;
        if (!kernels) return;
        this.kept.update("kernels", {
            caption: "Energy by kernel; ± is half of the 95 % interval",
            by: "kernel",
            lines: kernels,
            per: null,
            kernels: true,
            open: false,
            limit: KERNELS,
            choose: null,
            chosen: null,
        });
    }
}
