// Common code of all charts: uPlot in the page's colours, as wide as its box.
import uPlot from "uplot";
import { colour } from "./dom.ts";

const FONT = "12px system-ui, sans-serif";

export function axis(label: string, more: Partial<uPlot.Axis> = {}): uPlot.Axis {
    return {
        label,
        labelSize: 18,
        labelFont: FONT,
        font: FONT,
        stroke: () => colour("--muted"),
        grid: { stroke: () => colour("--grid"), width: 1 },
        ticks: { stroke: () => colour("--grid"), width: 1 },
        ...more,
    };
}

/** Keeps the chart as wide as its box, until the box is removed. */
export function keepWidth(chart: uPlot, box: HTMLElement): void {
    new ResizeObserver(() => {
        const width = box.clientWidth;
        if (width > 0 && Math.abs(width - chart.width) > 1) chart.setSize({ width, height: chart.height });
    }).observe(box);
    const redraw = (): void => chart.redraw(false);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);
}

/** uPlot's data, with figures that may be missing. */
export type Column = (number | null)[];
