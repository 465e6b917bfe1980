// The bar at the top: what of the recording is shown, and how to change it.
import { h, status } from "./dom.ts";
import { isWhole, WHOLE } from "./scope.ts";
import type { Scope } from "./scope.ts";
import type { Choices, Run } from "./data.ts";

type Option = readonly [string, string];

/** A list to choose from; "" is none. */
function list(label: string, options: readonly Option[], chosen: string, choose: (value: string) => void): HTMLElement {
    const box = h(
        "select",
        { "aria-label": label, onchange: () => choose(box.value) },
        ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
    );
    return h("label", { class: "pick" }, h("span", {}, label), box);
}

function processes(choices: Choices): Option[] {
    return choices.processes.map(({ pid, rank, command }) => [
        String(pid),
        rank !== null ? `rank ${rank} (${pid})` : command ? `${pid}: ${command.slice(0, 40)}` : String(pid),
    ]);
}

/** A restriction with a button that takes it away. */
function chip(text: string, remove: () => void): HTMLElement {
    return h(
        "span",
        { class: "chip" },
        h("bdi", {}, text),
        h("button", { type: "button", "aria-label": `Without ${text}`, onclick: remove }, "×"),
    );
}

export class Controls {
    readonly element = h("div", { class: "scope", role: "group", "aria-label": "What is shown" });
    readonly state = status("state");
    private drawn = "";

    constructor(private readonly change: (part: Partial<Scope>) => void) {}

    update(scope: Scope, choices: Choices, run: Run, several: boolean): void {
        const drawn = JSON.stringify([scope, choices, run.summary["requests"]]);
        if (drawn === this.drawn) return; // a list that is open stays open
        this.drawn = drawn;
        const value = (of: string | number | null): string => (of === null ? "" : String(of));
        const pick = (text: string): number | null => (text === "" ? null : Number(text));
        const parts: HTMLElement[] = [];
        const keys = choices.keys.filter(
            (key) => key !== "request" || run.summary["requests"] !== null || scope.by === key,
        );
        parts.push(
            list(
                "Rows",
                keys.map((key) => [key, key] as const),
                scope.by,
                (by) => this.change({ by }),
            ),
        );
        const phases = choices.phases.map((phase) => [phase, phase] as const);
        if (phases.length > 0)
            parts.push(
                list("Phase", [["", "all"], ...phases], value(scope.phase), (phase) =>
                    this.change({ phase: phase || null }),
                ),
            );
        if (choices.processes.length > 1)
            parts.push(
                list("Process", [["", "all"], ...processes(choices)], value(scope.process), (pid) =>
                    this.change({ process: pick(pid) }),
                ),
            );
        if (choices.boards.length > 1)
            parts.push(
                list(
                    "GPU",
                    [
                        ["", "all"],
                        ...choices.boards.map(({ index, name }) => [String(index), `${index}: ${name}`] as const),
                    ],
                    value(scope.board),
                    (board) => this.change({ board: pick(board) }),
                ),
            );
        if (scope.from !== null && scope.to !== null)
            parts.push(
                chip(`${scope.from.toFixed(2)} to ${scope.to.toFixed(2)} s`, () =>
                    this.change({ from: null, to: null }),
                ),
            );
        if (scope.layer !== null && !several) parts.push(chip(scope.layer, () => this.change({ layer: null })));
        if (!isWhole(scope))
            parts.push(
                h(
                    "button",
                    { type: "button", onclick: () => this.change({ ...WHOLE, by: scope.by, layer: scope.layer }) },
                    "The whole run",
                ),
            );
        this.element.replaceChildren(...parts);
    }
}
