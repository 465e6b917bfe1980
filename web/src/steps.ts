// The energy of each step.
import uPlot from "uplot";
import * as format from "./format.ts";
import { axis, keepWidth } from "./chart.ts";
import { colour, h } from "./dom.ts";
import { notable } from "./series.ts";
import type { Steps } from "./data.ts";

const HEIGHT = 220;

/** The number of the first step of each point, from 1. */
function numbers(steps: Steps): number[] {
    let next = 1;
    return steps.steps.map((count) => (next += count) - count);
}

export interface StepsOptions {
    caption: string;
    /** Title of the column of times. */
    time: string;
}

export const WHOLE_STEPS: StepsOptions = {
    caption: "Energy of single steps: their kernels, without idle time",
    time: "from begin to end",
};

/** A chart and a table of steps; draw() once it is in the page. */
export class StepsChart {
    readonly element: HTMLElement;
    private readonly box = h("div", { class: "chart", "aria-hidden": "true" });

    constructor(
        private readonly steps: Steps,
        options: StepsOptions,
    ) {
        const each = steps.steps[0] ?? 1;
        const number = numbers(steps);
        const rows = notable(steps).map(({ what, at }) =>
            h(
                "tr",
                {},
                h("th", { scope: "row" }, `${what} (${number[at]})`),
                h("td", {}, format.energyWithin(steps.energy_j[at]!, steps.low_j[at]!, steps.high_j[at]!)),
                h("td", {}, format.time(steps.seconds[at]!)),
                h("td", {}, `${steps.start_s[at]!.toFixed(2)} s`),
            ),
        );
        this.element = h(
            "div",
            { class: "steps" },
            this.box,
            h(
                "div",
                { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption },
                h(
                    "table",
                    {},
                    h("caption", {}, each > 1 ? `Means of ${each} steps each` : options.caption),
                    h(
                        "thead",
                        {},
                        h(
                            "tr",
                            {},
                            ...["step", "energy", options.time, "began at"].map((title, i) =>
                                h("th", { scope: "col", class: i === 0 ? "left" : null }, title),
                            ),
                        ),
                    ),
                    h("tbody", {}, ...rows),
                ),
            ),
        );
    }

    draw(): void {
        const { steps } = this;
        const edge = {
            stroke: "transparent",
            width: 0,
            points: { show: false },
            value: (_: uPlot, value: number) => format.energy(value),
        };
        const chart = new uPlot(
            {
                width: Math.max(300, this.box.clientWidth),
                height: HEIGHT,
                scales: { x: { time: false }, J: { range: (_, __, most) => [0, (most ?? 1) * 1.08] } },
                series: [
                    { label: "step" },
                    {
                        label: "energy",
                        scale: "J",
                        stroke: () => colour("--series-1"),
                        width: 1,
                        points: { show: true, size: 4 },
                        value: (_, value) => format.energy(value),
                    },
                    { ...edge, label: "low", scale: "J" },
                    { ...edge, label: "high", scale: "J" },
                ],
                bands: [{ series: [3, 2], fill: () => colour("--shade") }],
                axes: [axis("step", { size: 30 }), axis("J", { scale: "J", size: 56 })],
                cursor: { drag: { x: true, y: false } },
            },
            [numbers(steps), steps.energy_j, steps.low_j, steps.high_j],
            this.box,
        );
        keepWidth(chart, this.box);
    }
}
