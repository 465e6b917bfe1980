// Two flame graphs of the same lines, joules beside seconds, zoomed and searched together.
import flamegraph from "d3-flame-graph";
import type { FlameGraph, FlameNode } from "d3-flame-graph";
import { select } from "d3-selection";
import * as format from "./format.ts";
import { choice, h, legendItems, name, search, section, status } from "./dom.ts";
import { framesOf, levelsOf } from "./flame_data.ts";
import { frameColour, KNOWN } from "./palette.ts";
import { pathOf } from "./tree.ts";
import type { Colouring } from "./palette.ts";
import type { Frame, Weight } from "./flame_data.ts";
import type { Lines, Run } from "./data.ts";

const CELL = 20;
/** Narrower frames cannot be seen, and thousands of them would make a zoom slow. */
const NARROWEST = 0.7;

interface Graph {
    box: HTMLElement;
    chart: FlameGraph;
    weight: Weight;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Flames {
    readonly element: HTMLElement;
    private lines: Lines;
    private colouring: Colouring = "known";
    private words = "";
    private graphs: Graph[] = [];
    private readonly detail = status("detail");
    private readonly pair = h("div", { class: "pair" });
    private readonly legend = h("ul", { class: "legend", "aria-label": "Colours" });

    private readonly several: boolean;

    constructor(run: Run) {
        this.several = run.machine.boards.length > 1;
        this.lines = run.folded ?? run.rows;
        const controls = h("div", { class: "controls" });
        if (run.folded !== null)
            controls.append(
                choice(
                    "Equal layers",
                    [
                        ["folded", "together"],
                        ["rows", "one by one"],
                    ],
                    "folded",
                    (which) => {
                        this.lines = which === "folded" ? run.folded! : run.rows;
                        this.draw();
                    },
                ),
            );
        controls.append(
            choice<Colouring>(
                "Colour",
                [
                    ["known", "how known"],
                    ["own", "own share"],
                    ["power", "power"],
                ],
                "known",
                (colouring) => {
                    this.colouring = colouring;
                    this.draw();
                },
            ),
            search("Find in the graphs", (words) => this.find(words)),
            h("button", { type: "button", class: "reset", onclick: () => this.zoom(null) }, "Whole run"),
        );
        this.element = section(
            "flame",
            "Joules beside time",
            controls,
            this.pair,
            this.detail,
            this.legend,
            h(
                "p",
                { class: "note" },
                "Width is energy on the left and time on the right, each with all that is inside. Click or Enter zooms, Escape goes back, arrows move. The table below has the same rows.",
            ),
        );
    }

    /** Called when the element is in the page and has a width. */
    draw(): void {
        this.pair.replaceChildren();
        this.graphs = (
            [
                ["area_j", "Energy"],
                ["area_s", this.several ? "Time of the GPUs" : "Time of the GPU"],
            ] as const
        ).map(([weight, title]) => this.graph(weight, title));
        this.drawLegend();
        if (this.words !== "") this.find(this.words);
        this.showDetail(null);
    }

    private graph(weight: Weight, title: string): Graph {
        const frames = framesOf(this.lines, weight, "all");
        const box = h("div", { class: "flame", role: "group", "aria-label": `Flame graph, ${title.toLowerCase()}` });
        const figure = weight === "area_j" ? format.energy(frames.total) : format.time(frames.total);
        this.pair.append(h("div", {}, h("h3", {}, `${title} · ${figure}`), box));
        const mostW = Math.max(0, ...this.lines.power_w.map((power) => power ?? 0));
        const chart = flamegraph<Frame>()
            .width(Math.max(200, box.clientWidth))
            .height(levelsOf(frames) * CELL)
            .cellHeight(CELL)
            .inverted(true)
            .selfValue(true)
            .minFrameSize(NARROWEST)
            .transitionDuration(still.matches ? 0 : 120)
            .setLabelHandler((node: FlameNode<Frame>) => this.describe(node.data, weight))
            .setSearchHandler(() => undefined)
            .setSearchMatch(
                (node: FlameNode<Frame>, words: string) =>
                    words !== "" && node.data.name.toLowerCase().includes(words.toLowerCase()),
            )
            .setColorMapper((node: FlameNode<Frame>) =>
                node.highlight ? "#d55fa8" : frameColour(this.lines, node.data.line, this.colouring, mostW),
            )
            .onHover((node: FlameNode<Frame>) => this.showDetail(node.data))
            .onClick((node: FlameNode<Frame>) => this.follow(node, weight));
        select(box).datum(frames).call(chart);
        box.addEventListener("keydown", (event) => this.key(event, box));
        this.reach(box);
        return { box, chart, weight };
    }

    /** Shows the same frame in the other graph. */
    private follow(node: FlameNode<Frame>, weight: Weight): void {
        this.showDetail(node.data);
        for (const graph of this.graphs) {
            this.reach(graph.box);
            if (graph.weight !== weight) this.zoomOne(graph, node.data);
        }
    }

    private zoomOne(graph: Graph, frame: Frame | null): void {
        const root = select<HTMLElement, FlameNode<Frame>>(graph.box).datum();
        const target =
            frame === null
                ? root
                : root.descendants().find((node) => node.data.line === frame.line && node.data.name === frame.name);
        const click = graph.chart.onClick();
        graph.chart.onClick(() => undefined);
        graph.chart.zoomTo(target ?? root);
        graph.chart.onClick(click);
        this.reach(graph.box);
    }

    private zoom(frame: Frame | null): void {
        for (const graph of this.graphs) this.zoomOne(graph, frame);
        this.showDetail(frame);
    }

    private find(words: string): void {
        this.words = words.trim();
        for (const { chart } of this.graphs) {
            if (this.words === "") chart.clear();
            else chart.search(this.words);
        }
    }

    /** Makes frames reachable by the keyboard: one of them by Tab, the others by arrows. */
    private reach(box: HTMLElement): void {
        const frames = [...box.querySelectorAll<SVGGElement>("g.frame")];
        frames.forEach((frame, i) => {
            const data = select<SVGGElement, FlameNode<Frame>>(frame).datum().data;
            frame.setAttribute("tabindex", i === 0 ? "0" : "-1");
            frame.setAttribute("role", "button");
            frame.setAttribute("aria-label", frame.querySelector("title")?.textContent ?? data.name);
        });
    }

    private key(event: KeyboardEvent, box: HTMLElement): void {
        const at = (event.target as Element).closest<SVGGElement>("g.frame");
        if (at === null) return;
        const node = select<SVGGElement, FlameNode<Frame>>(at).datum();
        const siblings = node.parent?.children ?? [node];
        const place = siblings.indexOf(node);
        const next: Record<string, FlameNode<Frame> | null | undefined> = {
            ArrowDown: node.children?.[0],
            ArrowUp: node.parent,
            ArrowLeft: siblings[place - 1],
            ArrowRight: siblings[place + 1],
        };
        if (event.key === "Enter" || event.key === " ") this.zoom(node.data);
        else if (event.key === "Escape") this.zoom(null);
        else if (event.key in next) this.focus(box, next[event.key]);
        else return;
        event.preventDefault();
    }

    private focus(box: HTMLElement, node: FlameNode<Frame> | null | undefined): void {
        if (!node) return;
        for (const frame of box.querySelectorAll<SVGGElement>("g.frame")) {
            const here = select<SVGGElement, FlameNode<Frame>>(frame).datum() === node;
            frame.setAttribute("tabindex", here ? "0" : "-1");
            if (here) frame.focus();
        }
        this.showDetail(node.data);
    }

    private describe(frame: Frame, weight: Weight): string {
        const { lines } = this;
        const i = frame.line;
        if (i < 0)
            return `${frame.name}: ${weight === "area_j" ? format.energy(frame.total) : format.time(frame.total)}`;
        const many = lines.x[i]! > 1 ? ` × ${lines.x[i]}` : "";
        return `${frame.name}${many}: ${format.energyWithin(lines.energy_j[i]!, lines.low_j[i]!, lines.high_j[i]!)}, ${format.share(lines.share[i]!)}, ${format.time(lines.busy_s[i]!)}, ${format.watts(lines.power_w[i]!)}, ${lines.known[i]}`;
    }

    private showDetail(frame: Frame | null): void {
        if (frame === null) {
            this.detail.textContent = "Point at a frame: what it took stands here.";
            return;
        }
        const path = frame.line >= 0 ? pathOf(this.lines, frame.line) : "";
        this.detail.replaceChildren(
            this.describe(frame, "area_j"),
            path !== "" && path !== frame.name ? h("span", { class: "path" }, name(path)) : "",
        );
    }

    private drawLegend(): void {
        const present = new Set(this.lines.known);
        const items: [string, string][] =
            this.colouring === "known"
                ? Object.entries(KNOWN)
                      .filter(([known]) => present.has(known))
                      .map(([known, colour]) => [colour, known])
                : [
                      ["#fdf1d9", this.colouring === "own" ? "all in its parts" : "little power"],
                      ["#d98742", this.colouring === "own" ? "all its own" : "most power"],
                  ];
        this.legend.replaceChildren(...legendItems(items));
    }
}
