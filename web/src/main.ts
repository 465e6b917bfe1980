// Builds the page from the data that the core put into it.
import { CapChart } from "./cap.ts";
import { choice, h, name } from "./dom.ts";
import { diffSection } from "./diff.ts";
import { Flames } from "./flame.ts";
import { idleSection } from "./idle.ts";
import { machineSection } from "./machine.ts";
import { PowerChart } from "./power.ts";
import { StepsChart } from "./steps.ts";
import { summarySection } from "./summary.ts";
import { tableSection, kernelsSection } from "./tables.ts";
import type { Page, Run } from "./data.ts";

/** Something that draws itself once it is in the page and has a width. */
interface Drawn {
    draw(): void;
}

function navigation(sections: readonly HTMLElement[]): HTMLElement {
    return h(
        "nav",
        { "aria-label": "Parts of this page" },
        ...sections
            .filter((section) => section.id !== "summary")
            .map((section) =>
                h("a", { href: `#${section.id}` }, section.querySelector("h2")?.textContent ?? section.id),
            ),
    );
}

/** All sections of one run; the charts are drawn afterwards. */
function runSections(run: Run): { sections: HTMLElement[]; drawn: Drawn[] } {
    const drawn: Drawn[] = [];
    const sections: HTMLElement[] = [summarySection(run)];
    const add = (part: Drawn & { element: HTMLElement }): void => {
        sections.push(part.element);
        drawn.push(part);
    };
    if (run.cap !== null) add(new CapChart(run.cap));
    if (run.power.boards.length > 0) add(new PowerChart(run));
    add(new Flames(run));
    sections.push(tableSection(run));
    const idle = idleSection(run.rows, run.waits);
    if (idle !== null) sections.push(idle);
    if (run.kernels !== null) sections.push(kernelsSection(run.kernels));
    if (run.steps !== null) add(new StepsChart(run.steps));
    sections.push(machineSection(run));
    return { sections, drawn };
}

/** "GPU 0, 1: NVIDIA H200" */
function gpusOf(run: Run): string[] {
    const indices = new Map<string, number[]>();
    for (const board of run.power.boards) indices.set(board.name, [...(indices.get(board.name) ?? []), board.index]);
    return [...indices].map(([board, numbers]) => `GPU ${numbers.join(", ")}: ${board}`);
}

function header(page: Page, title: string, simulated: boolean): HTMLElement {
    return h(
        "header",
        {},
        h("p", { class: "mark" }, "joulemap"),
        h("h1", {}, name(title)),
        simulated ? h("p", { class: "badge simulated" }, "SIMULATED GPU") : null,
        h("p", { class: "gpus" }, [...new Set(page.runs.flatMap(gpusOf))].join("; ")),
        h("p", { class: "made" }, `joulemap ${page.version}`),
    );
}

function show(page: Page, root: HTMLElement): void {
    const diff = page.diff;
    const title = diff === null ? (page.runs[0]?.name ?? "a run") : `${diff.a.name} and ${diff.b.name}`;
    document.title = `${title} · joulemap`;
    const main = h("main");
    const nav = h("div", { class: "nav" });
    const draw = (chosen: number): void => {
        const { sections, drawn } = runSections(page.runs[chosen]!);
        if (diff !== null) {
            const names = [diff.a.name, diff.b.name];
            const which = choice(
                "Shown below",
                names.map((text, i) => [String(i), text] as const),
                String(chosen),
                (value) => draw(Number(value)),
            );
            sections.unshift(diffSection(diff), which);
        }
        main.replaceChildren(...sections);
        nav.replaceChildren(navigation(sections.filter((section) => section.tagName === "SECTION")));
        for (const part of drawn) part.draw();
    };
    root.replaceChildren(
        header(
            page,
            title,
            page.runs.some((run) => run.summary.simulated),
        ),
        nav,
        main,
    );
    draw(page.runs.length - 1);
}

show(JSON.parse(document.getElementById("data")!.textContent!) as Page, document.getElementById("page")!);
