// The parts of the page, and what they show: the scope in the address decides.
import { CapChart } from "./cap.ts";
import { ask, askState, Refusal } from "./client.ts";
import { Controls } from "./controls.ts";
import { DiffTable } from "./diff.ts";
import { checkbox, choice, h, name, section } from "./dom.ts";
import { Flames } from "./flame.ts";
import { idleSection } from "./idle.ts";
import { LayerPane } from "./layer.ts";
import { machineSection } from "./machine.ts";
import { PowerChart } from "./power.ts";
import { formatScope, isWhole, parseScope, queryOf, sameFigures, WHOLE } from "./scope.ts";
import { StepsChart, WHOLE_STEPS } from "./steps.ts";
import { summarySection } from "./summary.ts";
import { KernelsTable, RowsTable } from "./tables.ts";
import type { Range } from "./range.ts";
import type { Scope } from "./scope.ts";
import type { Layer, Page, Run } from "./data.ts";

const POLL_MS = 1000;

/** "GPU 0, 1: NVIDIA H200" */
function gpusOf(run: Run): string[] {
    const indices = new Map<string, number[]>();
    for (const board of run.power.boards) indices.set(board.name, [...(indices.get(board.name) ?? []), board.index]);
    return [...indices].map(([board, numbers]) => `GPU ${numbers.join(", ")}: ${board}`);
}

function rangeOf(scope: Scope): Range | null {
    return scope.from === null || scope.to === null ? null : { from: scope.from, to: scope.to };
}

/** A section that is made anew for each run; null: it has nothing to show. */
class Made {
    readonly element: HTMLElement;
    private run: Run | null = null;

    constructor(
        id: string,
        private readonly make: (run: Run) => HTMLElement | null,
    ) {
        this.element = h("section", { id, hidden: true });
    }

    update(run: Run): void {
        if (run === this.run) return;
        this.run = run;
        const made = this.make(run);
        this.element.hidden = made === null;
        if (made === null) return;
        for (const key of ["aria-label", "aria-labelledby"]) {
            const value = made.getAttribute(key);
            if (value !== null) this.element.setAttribute(key, value);
        }
        this.element.replaceChildren(...made.childNodes);
    }
}

export class App {
    private scope: Scope = WHOLE;
    private page: Page;
    /** The run as a whole, for the power chart and the lists of choices. */
    private overview: Run[] = [];
    private layer: Layer | null = null;
    private chosen = 0;
    private version = "";
    private asking: AbortController | null = null;
    private follow = true;
    private readonly served: boolean;

    private readonly header = h("header");
    private readonly nav = h("nav", { "aria-label": "Parts of this page" });
    private readonly which = h("div", { class: "which", hidden: true });
    private readonly main = h("main");
    private readonly live = h("p", { class: "live", hidden: true });
    private readonly save = h("a", { class: "save", download: true }, "Save");

    private readonly controls = new Controls((part) => this.change(part));
    private readonly diff = new DiffTable();
    private readonly flames = new Flames((layer) => this.change({ layer }));
    private readonly power = new PowerChart((range) =>
        this.change({ from: range?.from ?? null, to: range?.to ?? null }),
    );
    private readonly detail: LayerPane;
    private readonly rows = new RowsTable((layer) => this.change({ layer }));
    private readonly kernels = new KernelsTable();
    private readonly stepsBox = h("div");
    private readonly steps = section("steps", "Steps", this.stepsBox);
    private shownSteps: Run["steps"] = undefined;
    private readonly made = {
        summary: new Made("summary", summarySection),
        cap: new Made("cap", (run) => {
            if (run.cap === null) return null;
            const cap = new CapChart(run.cap);
            queueMicrotask(() => cap.draw());
            return cap.element;
        }),
        idle: new Made("idle", (run) => idleSection(run.rows, run.waits)),
        run: new Made("run", machineSection),
    };

    constructor(page: Page, root: HTMLElement) {
        this.page = page;
        this.served = page.served ?? false;
        this.detail = new LayerPane(() => this.change({ layer: null }), this.served);
        this.scope = parseScope(location.hash);
        const { summary, cap, idle, run } = this.made;
        const left = h("div", {}, this.rows.element, idle.element);
        const right = h("div", {}, this.kernels.element, this.steps);
        this.main.append(
            this.which,
            summary.element,
            this.flames.element,
            this.diff.element,
            this.detail.element,
            this.power.element,
            cap.element,
            h("div", { class: "columns" }, left, right),
            run.element,
        );
        this.diff.element.hidden = true;
        this.main.hidden = true;
        const bar = this.served
            ? h(
                  "div",
                  { class: "asking", role: "region", "aria-label": "Choices" },
                  this.controls.element,
                  this.live,
                  this.controls.state,
                  this.save,
              )
            : null;
        root.replaceChildren(
            this.header,
            h("div", { class: "nav" }, ...(bar === null ? [] : [bar]), this.nav),
            this.main,
        );
        this.live.append(checkbox("follow the run", true, (on) => this.setFollow(on)));
        window.addEventListener("popstate", () => this.goTo(parseScope(location.hash)));
        this.setHeader("joulemap");
    }

    // ---- what is shown

    private setHeader(title: string): void {
        const { runs, version } = this.page;
        this.header.replaceChildren(
            h("p", { class: "mark" }, "joulemap"),
            h("h1", {}, name(title)),
            runs.some((run) => run.summary.simulated) ? h("p", { class: "badge simulated" }, "SIMULATED GPU") : "",
            h("p", { class: "gpus" }, [...new Set(runs.flatMap(gpusOf))].join("; ")),
            h("p", { class: "made" }, `joulemap ${version}`),
        );
        document.title = title === "joulemap" ? title : `${title} · joulemap`;
    }

    /** Shows the page's data. */
    show(page: Page): void {
        const { diff, runs } = page;
        const first = this.main.hidden;
        this.page = page;
        if (this.overview.length === 0) this.overview = runs;
        if (first) {
            this.chosen = runs.length - 1;
            this.main.hidden = false;
            this.setHeader(diff === null ? (runs[0]?.name ?? "a run") : `${diff.a.name} and ${diff.b.name}`);
            if (diff !== null) this.makeWhich(diff.a.name, diff.b.name);
        }
        this.diff.element.hidden = diff === null;
        if (diff !== null) this.diff.update(diff, runs);
        this.draw();
    }

    private makeWhich(...names: string[]): void {
        this.which.hidden = false;
        this.which.replaceChildren(
            choice(
                "Shown",
                names.map((text, i) => [String(i), text] as const),
                String(this.chosen),
                (value) => {
                    this.chosen = Number(value);
                    this.draw();
                },
            ),
        );
    }

    private draw(): void {
        const run = this.page.runs[this.chosen]!;
        const { diff } = this.page;
        for (const made of Object.values(this.made)) made.update(run);
        this.flames.update(run, this.chosen === 1 ? diff : null);
        this.rows.update(run, this.scope.layer);
        this.kernels.update(run);
        this.drawSteps(run);
        this.drawScope();
        this.drawNavigation();
    }

    /** What changes with the scope before new data are here. */
    private drawScope(): void {
        const run = this.page.runs[this.chosen]!;
        const overview = this.overview[this.chosen] ?? run;
        this.power.update(overview, rangeOf(this.scope));
        const layer = this.layer?.path === this.scope.layer && this.page.diff === null ? this.layer : null;
        this.detail.update(run, this.scope.layer, layer);
        if (overview.choices !== undefined)
            this.controls.update(this.scope, overview.choices, run, this.page.diff !== null);
        this.save.setAttribute("href", queryOf(this.scope, "page"));
    }

    private drawSteps(run: Run): void {
        this.steps.hidden = !run.steps;
        if (run.steps === this.shownSteps) return;
        this.shownSteps = run.steps;
        if (!run.steps) return;
        const chart = new StepsChart(run.steps, WHOLE_STEPS);
        this.stepsBox.replaceChildren(chart.element);
        chart.draw();
    }

    /** Links that move to a part, and leave the address alone: the scope is there. */
    private drawNavigation(): void {
        const parts = [...this.main.querySelectorAll<HTMLElement>("section")].filter(
            (part) => !part.hidden && part.id !== "summary",
        );
        if (this.nav.dataset["parts"] === parts.map((part) => part.id).join()) return;
        this.nav.dataset["parts"] = parts.map((part) => part.id).join();
        this.nav.replaceChildren(
            ...parts.map((part) =>
                h(
                    "a",
                    {
                        href: `#${part.id}`,
                        onclick: (event) => {
                            event.preventDefault();
                            part.scrollIntoView();
                            part.tabIndex = -1;
                            part.focus({ preventScroll: true });
                        },
                    },
                    part.id === "layer" ? "Layer" : (part.querySelector("h2")?.textContent ?? part.id),
                ),
            ),
        );
    }

    // ---- what is asked for

    /** Restricts the page, and puts that into the address. */
    private change(part: Partial<Scope>): void {
        const next = { ...this.scope, ...part };
        if (formatScope(next) === formatScope(this.scope)) return;
        history.pushState(null, "", formatScope(next));
        this.goTo(next);
    }

    private goTo(scope: Scope): void {
        const [before, opened] = [this.scope, scope.layer !== null && scope.layer !== this.scope.layer];
        this.scope = scope;
        if (this.main.hidden) {
            if (this.served) void this.load();
            return;
        }
        this.drawScope();
        this.rows.update(this.page.runs[this.chosen]!, scope.layer);
        this.drawNavigation();
        if (opened) this.detail.element.scrollIntoView({ block: "nearest" });
        if (this.served) void (sameFigures(before, scope) ? this.loadLayer() : this.load());
    }

    private setFollow(on: boolean): void {
        this.follow = on;
    }

    /** Asks, and shows what comes; a later question ends an earlier one. */
    private async load(): Promise<void> {
        this.asking?.abort();
        const asking = new AbortController();
        this.asking = asking;
        const { scope } = this;
        const { signal } = asking;
        const again = !this.main.hidden && sameFigures(this.shown, scope); // the recording has grown
        if (!again) {
            this.say("computing");
            this.main.classList.add("stale");
        }
        try {
            const report = await ask<Page>(scope, "report", signal);
            const whole = isWhole(scope);
            const behind = !whole && (this.overview.length === 0 || report.version !== this.version);
            if (whole) this.overview = report.data.runs;
            this.version = report.version;
            const old = this.page.runs;
            report.data.runs.forEach((run, i) => {
                const was = old[i];
                if (was !== undefined && again) {
                    run.kernels = was.kernels ?? null;
                    run.steps = was.steps ?? null;
                }
            });
            this.shown = scope;
            this.show(report.data);
            this.main.classList.remove("stale");
            await Promise.all([
                this.loadPart("kernels", scope, signal),
                this.loadPart("steps", scope, signal),
                this.loadLayer(signal),
                behind ? this.loadOverview(signal) : null,
            ]);
            this.say("");
        } catch (error) {
            this.fail(error);
        }
    }

    /** The scope of the figures that are shown. */
    private shown: Scope = WHOLE;

    /** The run as a whole, of which a part is shown. */
    private async loadOverview(signal: AbortSignal): Promise<void> {
        this.overview = (await ask<Page>(WHOLE, "report", signal)).data.runs;
        this.drawScope();
    }

    private async loadPart(part: "kernels" | "steps", scope: Scope, signal: AbortSignal): Promise<void> {
        const { runs } = (await ask<Page>(scope, part, signal)).data;
        runs.forEach((run, i) => {
            const here = this.page.runs[i];
            if (here !== undefined) here[part] = (run[part] ?? null) as never;
        });
        const run = this.page.runs[this.chosen]!;
        if (part === "kernels") this.kernels.update(run);
        else this.drawSteps(run);
        this.drawNavigation();
    }

    private async loadLayer(signal: AbortSignal = new AbortController().signal): Promise<void> {
        const { scope } = this;
        if (scope.layer === null || this.page.diff !== null) return;
        try {
            const { data } = await ask<Layer>(scope, "layer", signal);
            if (scope !== this.scope) return;
            this.layer = data;
            this.drawScope();
        } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            this.layer = null; // not in this time; the pane says so
            if (scope === this.scope) this.drawScope();
        }
    }

    private say(text: string): void {
        this.controls.state.textContent = text;
    }

    private fail(error: unknown): void {
        if (error instanceof DOMException && error.name === "AbortError") return;
        this.main.classList.remove("stale");
        this.say(
            error instanceof Refusal
                ? error.message
                : error instanceof TypeError
                  ? "joulemap view has ended: this stays as it is"
                  : String(error),
        );
    }

    /** Asks for the data, and again whenever the recording has grown. */
    async serve(): Promise<void> {
        await this.load();
        for (;;) {
            await new Promise((done) => setTimeout(done, POLL_MS));
            if (document.hidden) continue;
            try {
                const { version, live } = await askState();
                this.live.hidden = !live;
                const behind = version !== this.version || this.main.hidden;
                if (behind && (this.follow || !live)) await this.load();
            } catch (error) {
                this.fail(error);
            }
        }
    }
}
