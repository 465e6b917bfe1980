// Power over time: drawn, zoomed, read, and a time chosen in it.
import uPlot from "uplot";
import * as format from "./format.ts";
import { axis, keepWidth } from "./chart.ts";
import { checkbox, colour, h, legendItems, section, status } from "./dom.ts";
import { keyed, within, zoomed } from "./range.ts";
import { lanesOf, middles, intervalOf } from "./series.ts";
import { SERIES } from "./palette.ts";
import type { Range } from "./range.ts";
import type { Run } from "./data.ts";

const HEIGHT = 200;
const WHEEL = 0.0015;
const ONE_LINE =
    "The line is the mean of a bin, the shade behind it from its least to its most reading, the dashes the clock.";
/** Narrower drags are clicks. */
const BRUSH_PX = 4;

/** The colour of a board's line. */
function lineOf(board: number): string {
    return colour(SERIES[board % SERIES.length]!);
}

export class PowerChart {
    readonly element: HTMLElement;
    private readonly box = h("div", {
        class: "chart",
        tabindex: 0,
        role: "group",
        "aria-label":
            "Power over time. Plus and minus zoom, arrows move, Enter chooses the time that is shown, Escape lets it go, Home shows all.",
    });
    private readonly readout = status("readout");
    private readonly figures = h("tbody");
    private readonly note = h("p", { class: "note" });
    private readonly legend = h("ul", { class: "legend", "aria-label": "Colours" });
    private readonly clockBox: HTMLElement;
    private run!: Run;
    private times: number[] = [];
    private whole: Range = { from: 0, to: 0 };
    private range: Range = { from: 0, to: 0 };
    private chosen: Range | null = null;
    private lanes: number[] = [];
    private chart: uPlot | null = null;
    private clock = true;

    /** @param choose restricts the page to a time; null: to none */
    constructor(private readonly choose: (range: Range | null) => void) {
        this.clockBox = checkbox("clock", true, (on) => this.showClock(on));
        this.element = section(
            "power",
            "Power over time",
            h(
                "div",
                { class: "controls" },
                this.clockBox,
                this.button("Zoom in", "+"),
                this.button("Zoom out", "-"),
                this.button("Earlier", "ArrowLeft"),
                this.button("Later", "ArrowRight"),
                this.button("Whole run", "Home"),
                this.button("Choose this time", "Enter"),
                this.button("All of the time", "Escape"),
            ),
            this.box,
            this.legend,
            this.readout,
            h(
                "details",
                {},
                h("summary", {}, "This time in figures"),
                h(
                    "div",
                    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Figures of a time" },
                    h(
                        "table",
                        {},
                        h(
                            "caption",
                            {},
                            "What each GPU drew in the time that is chosen, else in the one that is shown",
                        ),
                        h(
                            "thead",
                            {},
                            h(
                                "tr",
                                {},
                                ...["GPU", "mean", "least", "most", "clock", "energy"].map((title, i) =>
                                    h("th", { scope: "col", class: i === 0 ? "left" : null }, title),
                                ),
                            ),
                        ),
                        this.figures,
                    ),
                ),
            ),
            this.note,
        );
        this.box.addEventListener("keydown", (event) => {
            if (!event.ctrlKey && !event.metaKey && !event.altKey && this.press(event.key)) event.preventDefault();
        });
    }

    /** @param chosen the time that the page is restricted to */
    update(run: Run, chosen: Range | null): void {
        const before = this.whole;
        const wasWhole = this.range.from === before.from && this.range.to === before.to;
        const boards = run.power.boards.length;
        const fits = this.chart !== null && boards === this.run.power.boards.length;
        const moved = run !== this.run;
        this.run = run;
        this.chosen = chosen;
        this.element.hidden = boards === 0;
        this.times = middles(run.power);
        this.whole = { from: run.power.from_s ?? 0, to: run.power.to_s ?? 0 };
        this.range = wasWhole ? this.whole : within(this.range, this.whole);
        this.lanes = lanesOf(run.spans.bands.items);
        this.clockBox.hidden = !run.power.boards.some((board) => board.clock_mhz.some((clock) => clock !== null));
        this.note.textContent = `${boards > 1 ? "Lines are means of bins, dashed ones the clock." : ONE_LINE} Drag to choose a time; a double click chooses all. After a click, the wheel or + and - zoom.`;
        this.drawLegend();
        if (boards === 0) return;
        if (!fits) this.draw();
        else if (moved) this.chart!.setData(this.data());
        else this.mark();
        this.updateFigures();
    }

    /** The names of the lines; one GPU needs none. */
    private drawLegend(): void {
        const boards = this.run.power.boards;
        const items = boards.map(
            (board, b) => [`var(${SERIES[b % SERIES.length]})`, `GPU ${board.index}, ${board.name}`] as const,
        );
        this.legend.hidden = boards.length < 2;
        this.legend.replaceChildren(...legendItems(items));
    }

    private button(text: string, key: string): HTMLElement {
        return h("button", { type: "button", onclick: () => this.press(key) }, text);
    }

    private press(key: string): boolean {
        if (key === "Enter") this.choose(this.range);
        else if (key === "Escape") this.choose(null);
        if (key === "Enter" || key === "Escape") return true;
        const next = keyed(key, this.range, this.whole);
        if (next !== null) this.show(next);
        return next !== null;
    }

    private showClock(on: boolean): void {
        this.clock = on;
        this.chart?.series.forEach((series, i) => {
            if (series.scale === "MHz") this.chart!.setSeries(i, { show: on });
        });
    }

    private data(): uPlot.AlignedData {
        return [
            this.times,
            ...this.run.power.boards.flatMap((board) => [board.mean_w, board.least_w, board.most_w, board.clock_mhz]),
        ];
    }

    private draw(): void {
        this.chart?.destroy();
        this.chart = new uPlot(this.options(), this.data(), this.box);
        this.box.querySelector("canvas")?.setAttribute("aria-hidden", "true");
        keepWidth(this.chart, this.box);
        this.chart.over.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
        this.chart.over.addEventListener("dblclick", () => this.choose(null));
    }

    /** Shades the chosen time. */
    private mark(): void {
        if (this.chart === null) return;
        const [from, to] = [this.chosen?.from ?? 0, this.chosen?.to ?? 0];
        const left = this.chart.valToPos(Math.max(from, this.range.from), "x");
        const right = this.chart.valToPos(Math.min(to, this.range.to), "x");
        const shown = this.chosen !== null && right > left;
        const height = this.chart.over.clientHeight;
        this.chart.setSelect({ left: shown ? left : 0, top: 0, width: shown ? right - left : 0, height }, false);
    }

    /** The wheel zooms only with Ctrl or after a click, so that scrolling over the chart still moves the page. */
    private wheel(event: WheelEvent): void {
        if (this.chart === null || !(event.ctrlKey || document.activeElement === this.box)) return;
        event.preventDefault();
        const around = this.chart.posToVal(event.offsetX, "x");
        this.show(zoomed(this.range, Math.exp(event.deltaY * WHEEL), around, this.whole));
    }

    show(range: Range): void {
        this.range = within(range, this.whole);
        this.chart?.setScale("x", { min: this.range.from, max: this.range.to });
        this.updateFigures();
    }

    private options(): uPlot.Options {
        const boards = this.run.power.boards;
        const several = boards.length > 1;
        const series: uPlot.Series[] = [
            { label: "s", value: (_, value) => (value === null ? "-" : `${value.toFixed(3)} s`) },
        ];
        boards.forEach((board, b) => {
            const who = several ? `GPU ${board.index} ` : "";
            const edge = {
                stroke: "transparent",
                points: { show: false },
                width: 0,
                value: (_: uPlot, value: number) => format.watts(value),
            };
            series.push(
                {
                    label: `${who}power`,
                    scale: "W",
                    stroke: () => lineOf(b),
                    width: 1.5,
                    points: { show: false },
                    value: (_, value) => format.watts(value),
                },
                { ...edge, label: `${who}least`, scale: "W", show: !several },
                { ...edge, label: `${who}most`, scale: "W", show: !several },
                {
                    label: `${who}clock`,
                    scale: "MHz",
                    stroke: () => (several ? lineOf(b) : colour("--clock")),
                    width: 1,
                    dash: [4, 3],
                    points: { show: false },
                    spanGaps: true,
                    show: this.clock,
                    value: (_, value) => format.megahertz(value),
                },
            );
        });
        return {
            width: Math.max(300, this.box.clientWidth),
            height: HEIGHT,
            scales: {
                x: { time: false, range: () => [this.range.from, this.range.to] },
                W: { range: (_, __, most) => [0, (most ?? 1) * 1.08] },
                MHz: { range: (_, __, most) => [0, (most ?? 1) * 1.08] },
            },
            series,
            bands: several
                ? []
                : boards.map((_, b) => ({
                      series: [4 * b + 3, 4 * b + 2] as [number, number],
                      fill: () => colour("--shade"),
                  })),
            axes: [
                axis("seconds from the start of the recording", { size: 30 }),
                axis("W", { scale: "W", size: 56 }),
                axis("MHz", { scale: "MHz", side: 1, grid: { show: false }, size: 56 }),
            ],
            cursor: { drag: { x: true, y: false, setScale: false } },
            hooks: {
                drawClear: [(chart) => this.drawBands(chart)],
                setSelect: [(chart) => this.select(chart)],
                draw: [() => this.mark()],
            },
        };
    }

    private select(chart: uPlot): void {
        if (chart.select.width < BRUSH_PX) {
            this.mark();
            return;
        }
        const range = {
            from: chart.posToVal(chart.select.left, "x"),
            to: chart.posToVal(chart.select.left + chart.select.width, "x"),
        };
        this.choose(range);
    }

    /** Draws phases as bands with their names, steps as marks at the bottom. */
    private drawBands(chart: uPlot): void {
        const { ctx, bbox } = chart;
        const place = (time: number): number =>
            Math.min(bbox.left + bbox.width, Math.max(bbox.left, chart.valToPos(time, "x", true)));
        const ratio = devicePixelRatio;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        ctx.font = `${11 * ratio}px system-ui, sans-serif`;
        this.run.spans.bands.items.forEach((band, i) => {
            const [left, right] = [place(band.from_s), place(band.to_s)];
            if (right - left < 1) return;
            ctx.fillStyle = colour(i % 2 === 0 ? "--band-1" : "--band-2");
            ctx.fillRect(left, bbox.top, right - left, bbox.height);
            ctx.fillStyle = colour("--muted");
            if (ctx.measureText(band.name).width < right - left - 8 * ratio)
                ctx.fillText(band.name, left + 4 * ratio, bbox.top + 13 * ratio * (1 + this.lanes[i]!));
        });
        ctx.fillStyle = colour("--muted");
        for (const step of this.run.spans.steps.items)
            ctx.fillRect(place(step), bbox.top + bbox.height - 6 * ratio, ratio, 6 * ratio);
        ctx.restore();
    }

    private updateFigures(): void {
        const of = this.chosen ?? this.range;
        const rows = this.run.power.boards.map((board) => ({
            board,
            interval: intervalOf(board, this.times, of),
        }));
        const width = format.time(of.to - of.from);
        const sums = rows.map(
            ({ board, interval }) =>
                `GPU ${board.index}: ${format.watts(interval.mean_w)} mean, ${format.energy(interval.energy_j)}`,
        );
        this.readout.textContent = `${this.chosen === null ? "Shown" : "Chosen"}: ${of.from.toFixed(2)} to ${of.to.toFixed(2)} s (${width}). ${sums.join("; ")}`;
        this.figures.replaceChildren(
            ...rows.map(({ board, interval }) =>
                h(
                    "tr",
                    {},
                    h("th", { scope: "row" }, `${board.index}: ${board.name}`),
                    ...[
                        format.watts(interval.mean_w),
                        format.watts(interval.least_w),
                        format.watts(interval.most_w),
                        format.megahertz(interval.clock_mhz),
                        format.energy(interval.energy_j),
                    ].map((text) => h("td", {}, text)),
                ),
            ),
        );
    }
}
