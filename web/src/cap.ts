// Which power cap saves most: the prediction for each, the trials, and the choice.
import uPlot from "uplot";
import { QUANTITIES, isSameCap, ranges, sentence, shareWithin, tried } from "./cap_data.ts";
import { axis, keepWidth } from "./chart.ts";
import { colour, h, legendItems, section } from "./dom.ts";
import { SERIES } from "./palette.ts";
import type { CapSearch } from "./data.ts";

const HEIGHT = 260;
/** Percent of the reference; higher values are cut off. */
const MOST = 200;

function table(search: CapSearch): HTMLElement {
    const rows = tried(search).map(({ cap, numbers, proof }) =>
        h(
            "tr",
            {},
            h(
                "th",
                { scope: "row" },
                `${cap.cap_w.toFixed(0)} W`,
                isSameCap(cap.cap_w, search.chosen_w) ? " (chosen)" : null,
                isSameCap(cap.cap_w, search.reference_w) ? " (as found)" : null,
            ),
            h("td", {}, ranges(numbers), proof > 0 ? ` and ${proof} in the proof` : null),
            ...QUANTITIES.map(([key]) => h("td", {}, shareWithin(cap[key]))),
        ),
    );
    const titles = ["cap", "trials", ...QUANTITIES.map(([, title]) => title)];
    return h(
        "table",
        {},
        h(
            "caption",
            {},
            `In percent of ${search.reference_w.toFixed(0)} W, with 95 % intervals; to be least: ${search.objective}`,
        ),
        h(
            "thead",
            {},
            h("tr", {}, ...titles.map((title, i) => h("th", { scope: "col", class: i === 0 ? "left" : null }, title))),
        ),
        h("tbody", {}, ...rows),
    );
}

/** x, then for each quantity its value, low, high, and the trials. */
function columns(search: CapSearch): (number | null)[][] {
    const was = new Set(tried(search).map(({ cap }) => cap));
    return [
        search.caps.map((cap) => cap.cap_w),
        ...QUANTITIES.flatMap(([key]) => [
            ...[0, 1, 2].map((end) => search.caps.map((cap) => 100 * cap[key][end]!)),
            search.caps.map((cap) => (was.has(cap) ? 100 * cap[key][0] : null)),
        ]),
    ];
}

/** A vertical line at the chosen cap. */
function choiceLine(search: CapSearch): (chart: uPlot) => void {
    return (chart) => {
        const x = chart.valToPos(search.chosen_w, "x", true);
        const { ctx, bbox } = chart;
        ctx.save();
        ctx.strokeStyle = colour("--muted");
        ctx.setLineDash([6, 4]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        ctx.restore();
    };
}

export class CapChart {
    readonly element: HTMLElement;
    private readonly box = h("div", { class: "chart", "aria-hidden": "true" });

    constructor(private readonly search: CapSearch) {
        const keys = QUANTITIES.map(([, title], i) => [`var(${SERIES[i]!})`, title] as const);
        this.element = section(
            "cap",
            "Power cap",
            h("p", {}, sentence(search)),
            this.box,
            h("ul", { class: "legend", "aria-hidden": "true" }, ...legendItems(keys)),
            table(search),
        );
    }

    draw(): void {
        const edge = { stroke: "transparent", width: 0, points: { show: false }, scale: "%" };
        const data = columns(this.search);
        const shown = data
            .slice(1)
            .filter((_, i) => i % 4 === 0 || i % 4 === 3)
            .flat()
            .filter((value): value is number => value !== null && value <= MOST);
        const [low, high] = [Math.min(100, ...shown), Math.max(100, ...shown)];
        const room = 0.06 * (high - low) + 1;
        const chart = new uPlot(
            {
                width: Math.max(300, this.box.clientWidth),
                height: HEIGHT,
                scales: { x: { time: false }, "%": { range: [low - room, high + room] } },
                series: [
                    { label: "W" },
                    ...QUANTITIES.flatMap(([, title], i) => {
                        const stroke = (): string => colour(SERIES[i]!);
                        return [
                            { label: title, scale: "%", stroke, width: 1.5, points: { show: false } },
                            { ...edge, label: `${title} low` },
                            { ...edge, label: `${title} high` },
                            { ...edge, label: `${title} tried`, points: { show: true, size: 6, stroke, fill: stroke } },
                        ];
                    }),
                ],
                bands: QUANTITIES.map((_, i) => ({
                    series: [4 * i + 3, 4 * i + 2] as [number, number],
                    fill: () => `${colour(SERIES[i]!)}2e`,
                })),
                axes: [axis("power cap (W)", { size: 30 }), axis("% of the cap as found", { scale: "%", size: 56 })],
                legend: { show: false },
                hooks: { draw: [choiceLine(this.search)] },
                cursor: { drag: { x: true, y: false } },
            },
            data as uPlot.AlignedData,
            this.box,
        );
        keepWidth(chart, this.box);
    }
}
