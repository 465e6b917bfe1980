// The flame graph: energy or time as width, as wide as the page.
import flamegraph from "d3-flame-graph";
import type { FlameGraph, FlameNode } from "d3-flame-graph";
import { select } from "d3-selection";
import * as format from "./format.ts";
import { choice, h, legendItems, name, search, section, status } from "./dom.ts";
import { changesOf, framesOf, isMatch, levelsOf, sumOf } from "./flame_data.ts";
import { coloursOf, ENDS, frameColour, KNOWN } from "./palette.ts";
import { pathOf } from "./tree.ts";
import type { Colouring, Colours } from "./palette.ts";
import type { Frame, Weight } from "./flame_data.ts";
import type { Diff, Lines, Run } from "./data.ts";

const CELL = 20;
/** Narrower frames cannot be seen, and thousands of them would make a zoom slow. */
const NARROWEST = 0.7;

type Node = FlameNode<Frame>;
type Fold = "folded" | "rows";

const still = matchMedia("(prefers-reduced-motion: reduce)");

function nodeOf(frame: SVGGElement): Node {
    return select<SVGGElement, Node>(frame).datum();
}

export class Flames {
    readonly element: HTMLElement;
    private run: Run | null = null;
    private diff: Diff | null = null;
    private lines!: Lines;
    private colours!: Colours;
    private chart: FlameGraph | null = null;
    private weight: Weight = "area_j";
    private fold: Fold = "folded";
    private colouring: Colouring | null = null;
    private words = "";
    /** The frame that fills the width. */
    private focused = "";
    private width = 0;
    private readonly controls = h("div", { class: "controls" });
    private readonly box = h("div", { class: "flame", role: "group", "aria-label": "Flame graph" });
    private readonly found = status("found");
    private readonly detail = status("detail");
    private readonly legend = h("ul", { class: "legend", "aria-label": "Colours" });

    /** @param choose shows a layer in detail */
    constructor(private readonly choose: (path: string) => void) {
        this.element = section(
            "flame",
            "Flame graph",
            this.controls,
            this.box,
            h("div", { class: "below" }, this.detail, this.legend),
            h(
                "p",
                { class: "note" },
                "A click shows a layer in detail. A right click, a double click or F lets a frame fill the width; Escape goes back, arrows move.",
            ),
        );
        this.box.addEventListener("keydown", (event) => this.key(event));
        this.box.addEventListener("click", (event) => this.click(event), { capture: true });
        for (const kind of ["contextmenu", "dblclick"]) this.box.addEventListener(kind, (event) => this.focusOn(event));
        new ResizeObserver(() => {
            if (this.run !== null && Math.abs(this.box.clientWidth - this.width) > 1) this.draw();
        }).observe(this.box);
    }

    update(run: Run, diff: Diff | null): void {
        const controlsFit = this.run !== null && (this.run.folded === null) === (run.folded === null);
        this.run = run;
        this.diff = diff;
        this.colouring ??= diff === null ? "power" : "change";
        if (!controlsFit) this.makeControls();
        this.draw();
    }

    private makeControls(): void {
        const chosen = <T>(set: (value: T) => void) => {
            return (value: T): void => {
                set(value);
                this.draw();
            };
        };
        this.controls.replaceChildren(
            choice<Weight>(
                "Width",
                [
                    ["area_j", "energy"],
                    ["area_s", "time"],
                ],
                this.weight,
                chosen((weight) => (this.weight = weight)),
            ),
            choice<Colouring>(
                "Colour",
                [
                    ...(this.diff === null ? [] : ([["change", "change"]] as const)),
                    ["power", "power"],
                    ["time", "time"],
                    ["own", "own share"],
                    ["known", "how known"],
                ],
                this.colouring!,
                chosen((colouring) => (this.colouring = colouring)),
            ),
            ...(this.run!.folded === null
                ? []
                : [
                      choice<Fold>(
                          "Equal layers",
                          [
                              ["folded", "together"],
                              ["rows", "one by one"],
                          ],
                          this.fold,
                          chosen((fold) => (this.fold = fold)),
                      ),
                  ]),
            search("Find in the graph", (words) => {
                this.words = words.trim();
                this.find();
            }),
            this.found,
            h("button", { type: "button", class: "reset", onclick: () => this.zoom(null) }, "Whole"),
        );
    }

    private draw(): void {
        const run = this.run!;
        const at = this.box.contains(document.activeElement) ? document.activeElement : null;
        const key = at?.matches("g.frame") ? this.keyOf(nodeOf(at as SVGGElement).data) : null;
        this.lines = this.fold === "folded" && run.folded !== null ? run.folded : run.rows;
        const change = this.diff === null ? null : changesOf(this.diff, this.lines);
        this.colours = coloursOf(this.lines, this.colouring!, change);
        const frames = framesOf(this.lines, this.weight, "all");
        const focused = this.focused;
        this.width = this.box.clientWidth;
        this.box.replaceChildren();
        this.chart = flamegraph<Frame>()
            .width(Math.max(200, this.width))
            .height(levelsOf(frames) * CELL)
            .cellHeight(CELL)
            .inverted(true)
            .selfValue(true)
            .minFrameSize(NARROWEST)
            .transitionDuration(0)
            .setLabelHandler((node: Node) => this.describe(node.data))
            .setSearchHandler(() => undefined)
            .setSearchMatch((node: Node, words: string) => isMatch(node.data.name, words))
            .setColorMapper((node: Node) => (node.highlight ? "#d55fa8" : frameColour(this.colours, node.data.line)))
            .onHover((node: Node) => this.showDetail(node.data))
            .onClick((node: Node) => {
                this.focused = this.keyOf(node.data);
                this.reach();
            });
        select(this.box).datum(frames).call(this.chart);
        this.reach();
        this.zoomTo(focused);
        this.chart.transitionDuration(still.matches ? 0 : 120);
        this.drawLegend();
        this.find();
        this.showDetail(null);
        if (key !== null) this.moveTo(this.drawn().find((node) => this.keyOf(node.data) === key));
    }

    private drawn(): Node[] {
        return [...this.box.querySelectorAll<SVGGElement>("g.frame")].map(nodeOf);
    }

    private keyOf(frame: Frame): string {
        return frame.line < 0 ? "" : `${this.lines.kind[frame.line]} ${pathOf(this.lines, frame.line)}`;
    }

    /** Lets the frame of a key fill the width; without one that is here, all. */
    private zoomTo(key: string): void {
        const root = select<HTMLElement, Node>(this.box).datum();
        const target = key === "" ? root : (root.descendants().find((node) => this.keyOf(node.data) === key) ?? root);
        if (target !== root || this.focused !== "") this.chart!.zoomTo(target);
        this.focused = target === root ? "" : key;
    }

    private zoom(frame: Frame | null): void {
        this.zoomTo(frame === null ? "" : this.keyOf(frame));
        this.reach();
        this.showDetail(frame);
    }

    /** A click chooses; the graph's own answer, to zoom, is to others. */
    private click(event: MouseEvent): void {
        const frame = (event.target as Element).closest<SVGGElement>("g.frame");
        if (frame === null) return;
        event.stopPropagation();
        this.chooseFrame(nodeOf(frame).data);
    }

    private chooseFrame(frame: Frame): void {
        this.showDetail(frame);
        if (frame.line >= 0 && this.run!.summary.by === "layer") this.choose(pathOf(this.lines, frame.line));
    }

    private focusOn(event: Event): void {
        const frame = (event.target as Element).closest<SVGGElement>("g.frame");
        if (frame === null) return;
        event.preventDefault();
        event.stopPropagation();
        this.zoom(nodeOf(frame).data);
    }

    private find(): void {
        this.found.textContent = "";
        if (this.words === "") {
            this.chart!.clear();
            return;
        }
        this.chart!.search(this.words);
        const sum = sumOf(this.lines, this.words);
        const total = this.run!.summary.total_energy_j;
        const share = sum.energy_j === null || !total ? null : sum.energy_j / total;
        this.found.textContent =
            sum.rows === 0
                ? "nothing found"
                : `${format.energy(sum.energy_j)} (${format.share(share)}), ${format.time(sum.seconds)} in ${sum.rows} row${sum.rows === 1 ? "" : "s"}`;
    }

    /** Makes frames reachable by the keyboard: one of them by Tab, the others by arrows. */
    private reach(): void {
        const frames = [...this.box.querySelectorAll<SVGGElement>("g.frame")];
        frames.forEach((frame, i) => {
            frame.setAttribute("tabindex", i === 0 ? "0" : "-1");
            frame.setAttribute("role", "button");
            frame.setAttribute("aria-label", frame.querySelector("title")?.textContent ?? nodeOf(frame).data.name);
        });
    }

    private key(event: KeyboardEvent): void {
        const at = (event.target as Element).closest<SVGGElement>("g.frame");
        if (at === null || event.ctrlKey || event.metaKey || event.altKey) return;
        const node = nodeOf(at);
        const drawn = new Set(this.drawn());
        const siblings = (node.parent?.children ?? [node]).filter((other) => drawn.has(other));
        const place = siblings.indexOf(node);
        const next: Record<string, Node | null | undefined> = {
            ArrowDown: node.children?.find((child) => drawn.has(child)),
            ArrowUp: node.parent,
            ArrowLeft: siblings[place - 1],
            ArrowRight: siblings[place + 1],
        };
        if (event.key === "Enter" || event.key === " ") this.chooseFrame(node.data);
        else if (event.key.toLowerCase() === "f") this.zoom(node.data);
        else if (event.key === "Escape") this.zoom(null);
        else if (event.key in next) this.moveTo(next[event.key]);
        else return;
        event.preventDefault();
    }

    private moveTo(node: Node | null | undefined): void {
        if (!node) return;
        for (const frame of this.box.querySelectorAll<SVGGElement>("g.frame")) {
            const here = nodeOf(frame) === node;
            frame.setAttribute("tabindex", here ? "0" : "-1");
            if (here) frame.focus();
        }
        this.showDetail(node.data);
    }

    private describe(frame: Frame): string {
        const { lines } = this;
        const i = frame.line;
        if (i < 0)
            return `${frame.name}: ${this.weight === "area_j" ? format.energy(frame.total) : format.time(frame.total)}`;
        const many = lines.x[i]! > 1 ? ` × ${lines.x[i]}` : "";
        const change = this.colours.change?.(i) ?? null;
        return [
            `${frame.name}${many}: ${format.energyWithin(lines.energy_j[i]!, lines.low_j[i]!, lines.high_j[i]!)}`,
            format.share(lines.share[i]!),
            format.time(lines.busy_s[i]!),
            format.watts(lines.power_w[i]!),
            lines.known[i],
            ...(change === null ? [] : [`${format.change(change, null, null)} against ${this.diff!.a.name}`]),
        ].join(", ");
    }

    private showDetail(frame: Frame | null): void {
        if (frame === null) {
            this.detail.textContent = "Point at a frame: what it took stands here.";
            return;
        }
        const path = frame.line >= 0 ? pathOf(this.lines, frame.line) : "";
        this.detail.replaceChildren(
            this.describe(frame),
            path !== "" && path !== frame.name ? h("span", { class: "path" }, name(path)) : "",
        );
    }

    private drawLegend(): void {
        const present = new Set(this.lines.known);
        const { mostW, mostS } = this.colours;
        const ends: Record<Exclude<Colouring, "known">, readonly [string, string]> = {
            power: ["little power", `most power (${format.watts(mostW)})`],
            time: ["little time", `most time (${format.time(mostS)})`],
            own: ["all in its parts", "all its own"],
            change: ["20 % less and below", "20 % more and above"],
        };
        const colouring = this.colouring!;
        const items: [string, string][] =
            colouring === "known"
                ? Object.entries(KNOWN)
                      .filter(([known]) => present.has(known))
                      .map(([known, colour]) => [colour, known])
                : ENDS[colouring === "change" ? "change" : "sequence"].map((colour, i) => [
                      colour,
                      ends[colouring][i]!,
                  ]);
        this.legend.hidden = colouring === "power" && mostW === 0;
        this.legend.replaceChildren(...legendItems(items));
    }
}
