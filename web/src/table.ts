// A table of lines: sorted, searched, opened and closed.
import * as format from "./format.ts";
import { h, name, search, status } from "./dom.ts";
import { isWork } from "./palette.ts";
import { found, labelOf, pathOf, shown, treeOf, usuallyOpen } from "./tree.ts";
import type { SortKey, Tree } from "./tree.ts";
import type { Known, Lines } from "./data.ts";

export interface TableOptions {
    caption: string;
    /** Title of the first column: "layer". */
    by: string;
    lines: Lines;
    /** What energies are of: "step"; null: the run. */
    per: string | null;
    /** Whether to show the mean time of a call and the layer that kernels mostly ran in. */
    kernels: boolean;
    /** Whether important lines are open from the start; else none is. */
    open: boolean;
    /** Number of lines shown at first. */
    limit: number;
    /** Shows a line in detail; null: there is nothing to show. */
    choose: ((path: string) => void) | null;
    /** The path of the line in detail. */
    chosen: string | null;
}

/** Maximum indentation; deeper rows are not indented further. */
const DEEPEST = 16;

/** Visible characters of a kernel's name, which may have hundreds; a tooltip has all of it. */
const LONGEST_KERNEL = 72;

interface Column {
    key: SortKey;
    title: string;
    /** The text for screen readers. */
    long: string;
    cell: (i: number) => string | HTMLElement;
    left?: boolean;
}

function shareCell(share: number | null): HTMLElement {
    const meter = h("span", { class: "bar", "aria-hidden": "true" });
    meter.style.setProperty("--share", String(Math.max(0, Math.min(1, share ?? 0))));
    return h("span", { class: "share" }, meter, format.share(share));
}

/** A layer that a kernel mostly ran in, or that followed most of a pause. */
export function placeCell(place: string | null, share: Known): HTMLElement | string {
    if (place === null) return "-";
    return h(
        "span",
        { class: "place", title: place },
        name(place.replace(/ \(backward\)$/, " bwd")),
        ` ${format.percent(share)}`,
    );
}

function columnsOf(options: TableOptions): Column[] {
    const { lines, per } = options;
    const largest = Math.max(0, ...lines.energy_j.map((value) => Math.abs(value ?? 0)));
    const scale = format.scaleFor(largest);
    const unit = per === null ? scale.unit : `${scale.unit}/${per}`;
    const columns: Column[] = [];
    if (lines.x.some((x) => x > 1))
        columns.push({ key: "x", title: "×", long: "equal layers", cell: (i) => format.count(lines.x[i]!) });
    columns.push({
        key: "calls",
        title: "calls",
        long: "calls of one",
        cell: (i) => (lines.calls[i] === 0 ? "-" : format.count(Math.round(lines.calls[i]! / lines.x[i]!))),
    });
    columns.push(
        options.kernels
            ? {
                  key: "each",
                  title: "each",
                  long: "mean time of a call",
                  cell: (i) => format.time(lines.calls[i]! > 0 ? lines.busy_s[i]! / lines.calls[i]! : null),
              }
            : {
                  key: "busy_s",
                  title: "time",
                  long: "time",
                  cell: (i) => format.time(lines.busy_s[i]! > 0 ? lines.busy_s[i]! : null),
              },
        {
            key: "energy_j",
            title: unit,
            long: `energy, ${unit}`,
            cell: (i) => format.inScale(lines.energy_j[i]!, scale),
        },
        {
            key: "half",
            title: "±",
            long: "half of the 95 % interval",
            cell: (i) => format.half(lines.energy_j[i]!, lines.low_j[i]!, lines.high_j[i]!),
        },
        { key: "power_w", title: "power", long: "mean power", cell: (i) => format.watts(lines.power_w[i]!) },
        { key: "share", title: "share", long: "share of the total", cell: (i) => shareCell(lines.share[i]!) },
    );
    if (!options.kernels && lines.backward_share.some((share) => share !== null && share > 0))
        columns.push(
            {
                key: "forward_share",
                title: "fwd",
                long: "share of forward passes",
                cell: (i) => format.percent(lines.forward_share[i]!),
            },
            {
                key: "backward_share",
                title: "bwd",
                long: "share of backward passes",
                cell: (i) => format.percent(lines.backward_share[i]!),
            },
        );
    if (options.kernels && lines.mostly_in.some((place) => place !== null))
        columns.push({
            key: "mostly_in",
            title: "mostly in",
            long: "the layer that most of it ran in",
            left: true,
            cell: (i) => placeCell(lines.mostly_in[i]!, lines.mostly_share[i]!),
        });
    columns.push({
        key: "known",
        title: "known",
        long: "how it is known",
        left: true,
        cell: (i) => h("span", { class: `known known-${lines.known[i]}` }, lines.known[i]!),
    });
    return columns;
}

/** Caption, search, table, and a button for more lines. */
export class LinesTable {
    readonly element: HTMLElement;
    private tree!: Tree;
    private columns!: Column[];
    private readonly caption = h("caption");
    private readonly body = h("tbody");
    private readonly head = h("tr");
    private readonly count = status("count");
    private readonly more = h("button", { type: "button", class: "more", onclick: () => this.showMore() });
    private open = new Set<number>();
    private key: SortKey = "energy_j";
    private down = true;
    private words = "";
    private limit: number;

    constructor(private options: TableOptions) {
        this.limit = options.limit;
        this.take(options);
        if (options.open) this.open = usuallyOpen(this.tree);
        const table = h(
            "table",
            { class: options.kernels ? "lines wrapped" : "lines" },
            this.caption,
            h("thead", {}, this.head),
            this.body,
        );
        this.element = h(
            "div",
            { class: "table" },
            h(
                "div",
                { class: "controls" },
                search(`Search ${options.by}s`, (words) => this.search(words)),
                this.count,
            ),
            h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption }, table),
            this.more,
        );
        this.draw();
    }

    private take(options: TableOptions): void {
        this.options = options;
        this.tree = treeOf(options.lines);
        this.columns = columnsOf(options);
        this.caption.textContent = options.caption;
    }

    /** Other figures: what was opened, sorted and searched stays so. */
    update(options: TableOptions): void {
        const { lines } = this.options;
        const keyOf = (of: Lines, i: number): string => `${of.kind[i]} ${pathOf(of, i)}`;
        const at = document.activeElement?.closest("tr");
        const line = at && this.body.contains(at) ? Number(at.dataset["line"]) : null;
        const focused = line === null ? null : keyOf(lines, line);
        const seen = new Set(lines.name.map((_, i) => keyOf(lines, i)));
        const open = new Set([...this.open].map((i) => keyOf(lines, i)));
        this.take(options);
        const fresh = options.open ? usuallyOpen(this.tree) : new Set<number>();
        this.open = new Set(
            options.lines.name
                .map((_, i) => i)
                .filter((i) => {
                    const key = keyOf(options.lines, i);
                    return seen.has(key) ? open.has(key) : fresh.has(i);
                }),
        );
        this.draw();
        const row = focused === null ? -1 : options.lines.name.findIndex((_, i) => keyOf(options.lines, i) === focused);
        this.body.querySelector<HTMLElement>(`[data-line="${row}"] button.name`)?.focus();
    }

    private search(words: string): void {
        this.words = words;
        this.draw();
    }

    private showMore(): void {
        this.limit = Infinity;
        this.draw();
    }

    private sort(key: SortKey): void {
        this.down = this.key === key ? !this.down : key !== "name" && key !== "known" && key !== "mostly_in";
        this.key = key;
        this.draw();
        this.head.querySelector<HTMLElement>(`[data-key="${key}"]`)?.focus();
    }

    private toggle(i: number): void {
        if (!this.open.delete(i)) this.open.add(i);
        this.draw();
        this.body.querySelector<HTMLElement>(`[data-line="${i}"] button`)?.focus();
    }

    private heading(key: SortKey, title: string, long: string, left: boolean): HTMLElement {
        const order = this.key === key ? (this.down ? "descending" : "ascending") : "none";
        const mark = order === "none" ? "" : this.down ? " ▾" : " ▴";
        const button = h(
            "button",
            { type: "button", "data-key": key, title: long, onclick: () => this.sort(key) },
            title,
            h("span", { "aria-hidden": "true" }, mark),
        );
        return h("th", { scope: "col", "aria-sort": order, class: `column-${key}${left ? " left" : ""}` }, button);
    }

    private nameCell(i: number): HTMLElement {
        const { lines } = this.options;
        const label = labelOf(lines, i);
        const short = this.options.kernels ? format.middleCut(label, LONGEST_KERNEL) : label;
        const path = pathOf(lines, i);
        const title = path === short ? null : path;
        const { choose } = this.options;
        const text =
            choose !== null && isWork(lines, i)
                ? h(
                      "button",
                      {
                          type: "button",
                          class: "name",
                          title,
                          "aria-pressed": String(this.options.chosen === path),
                          onclick: () => choose(path),
                      },
                      name(short),
                  )
                : h("span", { class: "name", title }, name(short));
        const cell = h("th", { scope: "row" });
        cell.style.setProperty("--depth", String(Math.min(DEEPEST, lines.depth[i]!)));
        if (this.tree.children[i]!.length === 0) {
            cell.append(h("span", { class: "leaf" }), text);
            return cell;
        }
        const open = this.words !== "" || this.open.has(i);
        cell.append(
            h("button", {
                type: "button",
                class: "fold",
                "aria-expanded": String(open),
                "aria-label": `What is in ${label}`,
                onclick: () => this.toggle(i),
            }),
            text,
        );
        return cell;
    }

    private row(i: number): HTMLElement {
        return h(
            "tr",
            { "data-line": i },
            this.nameCell(i),
            ...this.columns.map((column) =>
                h("td", { class: `column-${column.key}${column.left ? " left" : ""}` }, column.cell(i)),
            ),
        );
    }

    private draw(): void {
        const { lines, by } = this.options;
        const hits = this.words.trim() === "" ? null : found(this.tree, this.words);
        const all = shown(this.tree, this.open, hits, this.key, this.down);
        const here = all.slice(0, this.limit);
        this.head.replaceChildren(
            this.heading("name", by, by, true),
            ...this.columns.map((column) => this.heading(column.key, column.title, column.long, column.left ?? false)),
        );
        this.body.replaceChildren(...here.map((i) => this.row(i)));
        const rest =
            lines.left_out.rows > 0 && hits === null
                ? `; ${lines.left_out.rows} smaller ones are not in this page`
                : "";
        this.count.textContent = `${hits === null ? all.length : hits.size} of ${lines.name.length} rows${rest}`;
        this.more.hidden = here.length === all.length;
        this.more.textContent = `Show ${all.length - here.length} more`;
    }
}
