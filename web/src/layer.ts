// A layer in detail: what it took, forward and backward, its kernels, its steps over time.
import * as format from "./format.ts";
import { figure, h, name, section } from "./dom.ts";
import { isWork } from "./palette.ts";
import { StepsChart } from "./steps.ts";
import { pathOf, treeOf } from "./tree.ts";
import type { Known, Layer, LayerKernels, Lines, Run } from "./data.ts";

/** The line of a path, among equal layers together or one by one. */
export function lineOf(run: Run, path: string): { lines: Lines; i: number } | null {
    for (const lines of [run.folded, run.rows]) {
        if (lines === null) continue;
        const i = lines.name.findIndex((_, at) => pathOf(lines, at) === path && isWork(lines, at));
        if (i >= 0) return { lines, i };
    }
    return null;
}

/** What this time would take if all work drew the same power: its share of the time, of all work's energy. */
export function byTimeAlone(lines: Lines, seconds: number): Known {
    const work = treeOf(lines).roots.filter((root) => isWork(lines, root));
    const all = work.reduce((sum, root) => sum + lines.busy_s[root]!, 0);
    const energy = work.reduce((sum, root) => sum + (lines.energy_j[root] ?? 0), 0);
    return all > 0 ? (energy * seconds) / all : null;
}

/** What is known of a layer, by the page's line until its detail is here: a pattern may match more layers. */
type Taken = Pick<Layer, "calls" | "busy_s" | "energy_j" | "low_j" | "high_j" | "members">;

function takenBy(lines: Lines, i: number): Taken {
    return {
        members: lines.x[i]!,
        calls: lines.calls[i]!,
        busy_s: lines.busy_s[i]!,
        energy_j: lines.energy_j[i]!,
        low_j: lines.low_j[i]!,
        high_j: lines.high_j[i]!,
    };
}

function figures(run: Run, lines: Lines, i: number, taken: Taken): HTMLElement {
    const { energy_j: energy, busy_s: seconds, calls } = taken;
    const alone = byTimeAlone(lines, seconds);
    const more = energy !== null && alone ? energy / alone - 1 : null;
    const total = run.summary.total_energy_j;
    const passes = lines.forward_share[i] !== null || lines.backward_share[i] !== null;
    return h(
        "dl",
        { class: "figures" },
        figure(
            "energy",
            format.energyWithin(energy, taken.low_j, taken.high_j),
            `${format.share(energy !== null && total ? energy / total : null)} of the total`,
        ),
        figure("time", format.time(seconds), calls > 0 ? `${format.count(calls)} calls` : null),
        figure("power", format.watts(energy !== null && seconds > 0 ? energy / seconds : null), lines.known[i]!),
        passes
            ? figure(
                  "forward, backward",
                  `${format.percent(lines.forward_share[i]!)}, ${format.percent(lines.backward_share[i]!)}`,
                  "of its energy",
              )
            : null,
        figure(
            "by its time alone",
            format.energy(alone),
            more === null
                ? null
                : `it took ${format.share(Math.abs(more))} ${more < 0 ? "less" : "more"}, as it draws ${more < 0 ? "less" : "more"} than the mean`,
        ),
    );
}

function kernelsTable(kernels: LayerKernels, total: Known): HTMLElement {
    const largest = Math.max(0, ...kernels.energy_j.map((energy) => energy ?? 0));
    const scale = format.scaleFor(largest);
    return h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Kernels of the layer" },
        h(
            "table",
            { class: "lines wrapped" },
            h("caption", {}, "Kernels that it launched"),
            h(
                "thead",
                {},
                h(
                    "tr",
                    {},
                    ...["kernel", "calls", "each", scale.unit, "±", "power", "share"].map((title, i) =>
                        h("th", { scope: "col", class: i === 0 ? "left" : null }, title),
                    ),
                ),
            ),
            h(
                "tbody",
                {},
                ...kernels.name.map((full, i) => {
                    const [energy, calls, seconds] = [kernels.energy_j[i]!, kernels.calls[i]!, kernels.busy_s[i]!];
                    const short = format.middleCut(kernels.short[i] ?? full, 60);
                    return h(
                        "tr",
                        {},
                        h("th", { scope: "row" }, h("span", { class: "name", title: full }, name(short))),
                        h("td", {}, format.count(calls)),
                        h("td", {}, format.time(calls > 0 ? seconds / calls : null)),
                        h("td", {}, format.inScale(energy, scale)),
                        h("td", {}, format.half(energy, kernels.low_j[i]!, kernels.high_j[i]!)),
                        h("td", {}, format.watts(energy !== null && seconds > 0 ? energy / seconds : null)),
                        h("td", {}, format.share(energy !== null && total ? energy / total : null)),
                    );
                }),
            ),
        ),
    );
}

export class LayerPane {
    readonly element: HTMLElement;
    private readonly title = h("h2", { id: "layer-title" });
    private readonly body = h("div");
    private shown: { path: string | null; run: Run | null; layer: Layer | null } = {
        path: null,
        run: null,
        layer: null,
    };

    /** @param close shows no layer in detail */
    constructor(
        close: () => void,
        private readonly served: boolean,
    ) {
        this.element = section(
            "layer",
            "Layer",
            h("button", { type: "button", class: "close", onclick: close }, "Close"),
            this.body,
        );
        this.element.querySelector("h2")!.replaceWith(this.title);
        this.element.hidden = true;
        this.element.tabIndex = -1;
    }

    /** @param layer its kernels and steps; null: not here, or not yet */
    update(run: Run, path: string | null, layer: Layer | null): void {
        const same = this.shown.path === path && this.shown.run === run && this.shown.layer === layer;
        this.shown = { path, run, layer };
        this.element.hidden = path === null;
        if (path === null || same) return;
        const found = lineOf(run, path);
        const taken = layer ?? (found !== null ? takenBy(found.lines, found.i) : null);
        const many = taken !== null && taken.members > 1 ? ` × ${taken.members}` : "";
        this.title.replaceChildren(name(path), many);
        const kernels = layer !== null ? kernelsTable(layer.kernels, layer.energy_j) : null;
        const steps =
            layer?.steps && layer.steps.energy_j.length > 1
                ? new StepsChart(layer.steps, {
                      caption: "Its energy in single steps",
                      time: "time of its kernels",
                  })
                : null;
        this.body.replaceChildren(
            found === null || taken === null
                ? h("p", {}, "It took nothing in this time.")
                : figures(run, found.lines, found.i, taken),
            h("div", { class: "pair" }, ...[kernels, steps?.element].filter((part) => !!part)),
            ...(this.served
                ? []
                : [
                      h(
                          "p",
                          { class: "note" },
                          "Its kernels and its steps are in `joulemap view`, which computes anew.",
                      ),
                  ]),
        );
        steps?.draw();
    }
}
