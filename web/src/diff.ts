// Two runs beside each other.
import * as format from "./format.ts";
import { checkbox, h, name, search, section, status } from "./dom.ts";
import { pathOf } from "./tree.ts";
import type { Diff, DiffFigures, DiffRow, Known, Lines, Run } from "./data.ts";

const LIMIT = 15;
const SURE = new Set(["less", "more"]);

/** Time and power of a row on one side. */
interface Beside {
    seconds: Known;
    power_w: Known;
}

/** Of each row of a run, its time of a unit and its power, by kind and path. */
function besideOf(lines: Lines, units: number): (row: DiffRow) => Beside {
    const byKey = new Map<string, number>();
    lines.name.forEach((_, i) => byKey.set(`${lines.kind[i]} ${pathOf(lines, i)}`, i));
    return ({ kind, path }) => {
        const i = byKey.get(`${kind} ${path}`);
        if (i === undefined) return { seconds: null, power_w: null };
        return { seconds: lines.busy_s[i]! > 0 ? lines.busy_s[i]! / units : null, power_w: lines.power_w[i]! };
    };
}

/** Whether a side is larger than half of its interval: else a percentage says nothing. */
function isSeen(value: Known, low: Known, high: Known): boolean {
    return value !== null && (low === null || high === null || Math.abs(value) > (high - low) / 2);
}

function figureCells(row: DiffFigures, a: Beside, b: Beside): HTMLElement[] {
    const seen = isSeen(row.a_j, row.a_low_j, row.a_high_j) && isSeen(row.b_j, row.b_low_j, row.b_high_j);
    const texts = [
        format.energyWithin(row.a_j, row.a_low_j, row.a_high_j),
        format.energyWithin(row.b_j, row.b_low_j, row.b_high_j),
        seen ? format.change(row.change, row.change_low, row.change_high) : "-",
        format.time(a.seconds),
        format.time(b.seconds),
        format.watts(a.power_w),
        format.watts(b.power_w),
    ];
    const verdict = h("span", { class: `change change-${row.verdict.split(" ")[0]}` }, row.verdict);
    return [
        ...texts.map((text, i) => h("td", { class: i > 2 ? "column-beside" : null }, text)),
        h("td", { class: "left" }, verdict),
    ];
}

/** The change in joules, for the order of rows; unknown changes come last. */
function weight(row: DiffRow): number {
    return row.a_j === null && row.b_j === null ? -1 : Math.abs((row.b_j ?? 0) - (row.a_j ?? 0));
}

/** What exists on one side alone stands first. */
function order(a: DiffRow, b: DiffRow): number {
    const alone = (row: DiffRow): number => (row.verdict.startsWith("only") ? 1 : 0);
    return alone(b) - alone(a) || weight(b) - weight(a);
}

function wholeOf(run: Run, units: number): Beside {
    const { duration_s, total_energy_j } = run.summary;
    return {
        seconds: duration_s === null ? null : duration_s / units,
        power_w: duration_s && total_energy_j !== null ? total_energy_j / duration_s : null,
    };
}

export class DiffTable {
    readonly element: HTMLElement;
    private readonly body = h("tbody");
    private readonly total = h("tbody", { class: "total" });
    private readonly head = h("tr");
    private readonly caption = h("caption");
    private readonly count = status("count");
    private readonly sureBox: HTMLElement;
    private diff!: Diff;
    private runs!: Run[];
    private words = "";
    private sure = false;
    private limit = LIMIT;
    private readonly more = h("button", { type: "button", class: "more", onclick: () => this.showMore() });

    constructor() {
        this.sureBox = checkbox("only what surely changed", false, (on) => {
            this.sure = on;
            this.draw();
        });
        this.element = section(
            "diff",
            "What changed",
            h(
                "div",
                { class: "controls" },
                this.sureBox,
                search("Search rows", (text) => {
                    this.words = text;
                    this.draw();
                }),
                this.count,
            ),
            h(
                "div",
                { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of changes" },
                h("table", { class: "lines" }, this.caption, h("thead", {}, this.head), this.total, this.body),
            ),
            this.more,
            h(
                "p",
                { class: "note" },
                "Intervals hold what the sensors leave open, not how much runs of one program differ: `joulemap diff A1 A2 A3 -- B1 B2 B3` does.",
            ),
        );
    }

    update(diff: Diff, runs: Run[]): void {
        if (this.diff === undefined) {
            this.sure = diff.rows.some((row) => SURE.has(row.verdict));
            this.sureBox.querySelector("input")!.checked = this.sure;
        }
        this.diff = diff;
        this.runs = runs;
        this.draw();
    }

    private showMore(): void {
        this.limit = Infinity;
        this.draw();
    }

    private draw(): void {
        const { diff, runs } = this;
        const [a, b] = [besideOf(runs[0]!.rows, diff.a.units), besideOf(runs[1]!.rows, diff.b.units)];
        const again = new Map<string, number>();
        for (const { path } of diff.rows) again.set(path, (again.get(path) ?? 0) + 1);
        const rows = diff.rows
            .filter(
                (row) =>
                    (!this.sure || SURE.has(row.verdict) || row.verdict.startsWith("only")) &&
                    row.path.toLowerCase().includes(this.words.toLowerCase()),
            )
            .sort(order);
        const shown = rows.slice(0, this.limit);
        this.more.hidden = shown.length === rows.length;
        this.more.textContent = `Show ${rows.length - shown.length} more`;
        this.body.replaceChildren(
            ...shown.map((row) =>
                h(
                    "tr",
                    {},
                    h("th", { scope: "row" }, name(row.path), again.get(row.path)! > 1 ? ` (${row.kind})` : null),
                    ...figureCells(row, a(row), b(row)),
                ),
            ),
        );
        const whole = figureCells(diff.total, wholeOf(runs[0]!, diff.a.units), wholeOf(runs[1]!, diff.b.units));
        this.total.replaceChildren(h("tr", {}, h("th", { scope: "row" }, `all of a ${diff.per}`), ...whole));
        const side = (text: string, unit: string): HTMLElement =>
            h("th", { scope: "col", class: unit === "" ? null : "column-beside" }, name(text), unit);
        this.head.replaceChildren(
            h("th", { scope: "col", class: "left" }, diff.by),
            side(diff.a.name, ""),
            side(diff.b.name, ""),
            h("th", { scope: "col" }, "change"),
            side(diff.a.name, ", time"),
            side(diff.b.name, ", time"),
            side(diff.a.name, ", power"),
            side(diff.b.name, ", power"),
            h("th", { scope: "col", class: "left" }, "verdict"),
        );
        const same =
            diff.gpu === "same"
                ? "Same GPU: the sensor's gain cancels."
                : "Not surely the same GPU: changes hold the gains of both sensors.";
        this.caption.textContent = `Energy of a ${diff.per}, each with its 95 % interval. ${same}`;
        this.count.textContent = `${rows.length} of ${diff.rows.length} rows, those that changed by most first`;
    }
}
