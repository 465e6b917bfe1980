// What the page shows of a recording. It is in the address, behind the "#", so that it can be kept and sent.

export interface Scope {
    /** The key of rows. */
    by: string;
    phase: string | null;
    /** Seconds from the start of the recording; both or none. */
    from: number | null;
    to: number | null;
    /** A process by its pid, a GPU by its index. */
    process: number | null;
    board: number | null;
    /** The layer in detail: a path, or a pattern for equal layers. */
    layer: string | null;
}

export const WHOLE: Scope = {
    by: "layer",
    phase: null,
    from: null,
    to: null,
    process: null,
    board: null,
    layer: null,
};

function number(text: string | null): number | null {
    return text !== null && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

/** The scope of an address; what cannot be read counts for nothing. */
export function parseScope(hash: string): Scope {
    const words = new URLSearchParams(hash.replace(/^#/, ""));
    const [from, to] = [number(words.get("from")), number(words.get("to"))];
    const timed = from !== null && to !== null && from < to;
    return {
        by: words.get("by") || WHOLE.by,
        phase: words.get("phase") || null,
        from: timed ? from : null,
        to: timed ? to : null,
        process: number(words.get("process")),
        board: number(words.get("board")),
        layer: words.get("layer") || null,
    };
}

/** What differs from the whole, as name and text. */
function wordsOf(scope: Scope): URLSearchParams {
    const words = new URLSearchParams();
    for (const [key, value] of Object.entries(scope) as [keyof Scope, string | number | null][]) {
        if (value === null || value === WHOLE[key]) continue;
        words.set(key, key === "from" || key === "to" ? (value as number).toFixed(4) : String(value));
    }
    return words;
}

/** "#phase=train&from=1.0000&to=2.0000" */
export function formatScope(scope: Scope): string {
    const words = wordsOf(scope).toString();
    return words === "" ? "#" : `#${words}`;
}

/** The question for a part of the data. */
export function queryOf(scope: Scope, part: string): string {
    const words = wordsOf(part === "layer" ? scope : { ...scope, layer: null });
    words.set("part", part);
    return `data?${words}`;
}

/** Whether the figures are the same, whatever layer is shown in detail. */
export function sameFigures(a: Scope, b: Scope): boolean {
    return formatScope({ ...a, layer: null }) === formatScope({ ...b, layer: null });
}

/** Whether it is all of the run, whatever its rows. */
export function isWhole(scope: Scope): boolean {
    return sameFigures({ ...scope, by: WHOLE.by }, WHOLE);
}
