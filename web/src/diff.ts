// Two runs beside each other.
import * as format from "./format.ts";
import { checkbox, h, name, search, section, status } from "./dom.ts";
import type { Diff, DiffFigures, DiffRow } from "./data.ts";

const SURE = new Set(["less", "more"]);

function figureCells(row: DiffFigures): HTMLElement[] {
    const texts = [
        format.energyWithin(row.a_j, row.a_low_j, row.a_high_j),
        format.energyWithin(row.b_j, row.b_low_j, row.b_high_j),
        format.change(row.change, row.change_low, row.change_high),
    ];
    return [
        ...texts.map((text) => h("td", {}, text)),
        h("td", { class: "left" }, h("span", { class: `change change-${row.verdict.split(" ")[0]}` }, row.verdict)),
    ];
}

/** The change in joules, for the order of rows; unknown changes come last. */
function weight(row: DiffRow): number {
    return row.a_j === null && row.b_j === null ? -1 : Math.abs((row.b_j ?? 0) - (row.a_j ?? 0));
}

export function diffSection(diff: Diff): HTMLElement {
    const body = h("tbody");
    const count = status("count");
    const again = new Map<string, number>();
    for (const { path } of diff.rows) again.set(path, (again.get(path) ?? 0) + 1);
    let words = "";
    let sure = diff.rows.some((row) => SURE.has(row.verdict));
    const draw = (): void => {
        const rows = diff.rows
            .filter((row) => (!sure || SURE.has(row.verdict)) && row.path.toLowerCase().includes(words.toLowerCase()))
            .sort((a, b) => weight(b) - weight(a))
            .slice(0, 200);
        body.replaceChildren(
            ...rows.map((row) =>
                h(
                    "tr",
                    {},
                    h("th", { scope: "row" }, name(row.path), again.get(row.path)! > 1 ? ` (${row.kind})` : null),
                    ...figureCells(row),
                ),
            ),
        );
        count.textContent = `${rows.length} of ${diff.rows.length} rows, those that changed by most first`;
    };
    draw();
    const same =
        diff.gpu === "same"
            ? "Same GPU: the sensor's gain cancels."
            : "Not surely the same GPU: changes hold the gains of both sensors.";
    return section(
        "diff",
        "What changed",
        h(
            "div",
            { class: "controls" },
            checkbox("only what surely changed", sure, (on) => {
                sure = on;
                draw();
            }),
            search("Search rows", (text) => {
                words = text;
                draw();
            }),
            count,
        ),
        h(
            "div",
            { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of changes" },
            h(
                "table",
                { class: "lines" },
                h("caption", {}, `Energy of a ${diff.per}, each with its 95 % interval. ${same}`),
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        h("th", { scope: "col", class: "left" }, diff.by),
                        h("th", { scope: "col" }, name(diff.a.name)),
                        h("th", { scope: "col" }, name(diff.b.name)),
                        h("th", { scope: "col" }, "change"),
                        h("th", { scope: "col", class: "left" }, "verdict"),
                    ),
                ),
                h(
                    "tbody",
                    { class: "total" },
                    h("tr", {}, h("th", { scope: "row" }, `all of a ${diff.per}`), ...figureCells(diff.total)),
                ),
                body,
            ),
        ),
    );
}
