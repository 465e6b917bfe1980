// Lines of a table as a tree: parents, order, and which lines are shown.
import type { Known, Lines } from "./data.ts";

export interface Tree {
    lines: Lines;
    /** The parent of each line; -1: none. */
    parent: number[];
    children: number[][];
    roots: number[];
}

/** The parent of a line is the last earlier line that is less deep. */
export function treeOf(lines: Lines): Tree {
    const parent: number[] = [];
    const children: number[][] = [];
    const roots: number[] = [];
    const open: number[] = [];
    lines.depth.forEach((depth, i) => {
        while (open.length > 0 && lines.depth[open[open.length - 1]!]! >= depth) open.pop();
        const around = open.length > 0 ? open[open.length - 1]! : -1;
        parent.push(around);
        children.push([]);
        (around < 0 ? roots : children[around]!).push(i);
        open.push(i);
    });
    return { lines, parent, children, roots };
}

export type SortKey =
    | "order"
    | "name"
    | "x"
    | "calls"
    | "each"
    | "busy_s"
    | "energy_j"
    | "half"
    | "power_w"
    | "forward_share"
    | "backward_share"
    | "mostly_in"
    | "share"
    | "known";

const PROVENANCE = ["measured", "fitted", "counters", "isolated", "given", "weak", "unresolved"];

export function labelOf(lines: Lines, i: number): string {
    const text = lines.short[i] ?? lines.name[i]!;
    return lines.says_kind[i] ? `${text} (${lines.kind[i]})` : text;
}

export function pathOf(lines: Lines, i: number): string {
    return lines.path[i] ?? lines.name[i]!;
}

/** Missing values (null) come last in either direction. */
function valueOf(lines: Lines, i: number, key: SortKey): Known | string {
    switch (key) {
        case "order":
            return i;
        case "name":
            return labelOf(lines, i).toLowerCase();
        case "known":
            return PROVENANCE.indexOf(lines.known[i]!);
        case "each":
            return lines.calls[i]! > 0 ? lines.busy_s[i]! / lines.calls[i]! : null;
        case "half": {
            const [energy, low, high] = [lines.energy_j[i]!, lines.low_j[i]!, lines.high_j[i]!];
            return energy === null || low === null || high === null || energy === 0
                ? null
                : (high - low) / Math.abs(energy);
        }
        default:
            return lines[key][i]!;
    }
}

export function sorted(lines: Lines, of: readonly number[], key: SortKey, down: boolean): number[] {
    const sign = down ? -1 : 1;
    return [...of].sort((a, b) => {
        const left = valueOf(lines, a, key);
        const right = valueOf(lines, b, key);
        if (left === null || right === null) return (left === null ? 1 : 0) - (right === null ? 1 : 0) || a - b;
        return left < right ? -sign : left > right ? sign : a - b;
    });
}

/** Lines that contain every word in name, path, kind or type, and all their parents. */
export function found(tree: Tree, words: string): Set<number> {
    const wanted = words
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== "");
    const hits = new Set<number>();
    const { lines } = tree;
    lines.name.forEach((name, i) => {
        const text = `${name} ${pathOf(lines, i)} ${lines.kind[i]} ${lines.type[i]}`.toLowerCase();
        if (!wanted.every((word) => text.includes(word))) return;
        for (let at = i; at >= 0 && !hits.has(at); at = tree.parent[at]!) hits.add(at);
    });
    return hits;
}

/** Opens the lines that have a child with a large enough share of the total. */
export function usuallyOpen(tree: Tree, least = 0.03): Set<number> {
    const open = new Set<number>();
    tree.children.forEach((children, i) => {
        const whole = children.length === 1 && (tree.lines.share[children[0]!] ?? 0) > least;
        if (whole || children.some((child) => Math.abs(tree.lines.share[child] ?? 0) >= least)) open.add(i);
    });
    return open;
}

/** The lines to show, in order: children of open parents, and search results. */
export function shown(
    tree: Tree,
    open: ReadonlySet<number>,
    hits: ReadonlySet<number> | null,
    key: SortKey,
    down: boolean,
): number[] {
    const out: number[] = [];
    const walk = (level: readonly number[]): void => {
        for (const i of sorted(tree.lines, level, key, down)) {
            if (hits !== null && !hits.has(i)) continue;
            out.push(i);
            if (hits !== null || open.has(i)) walk(tree.children[i]!);
        }
    };
    walk(tree.roots);
    return out;
}
