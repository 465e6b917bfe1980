// Lines as the nodes of a flame graph, whose areas add up to the whole.
import { labelOf, pathOf, treeOf } from "./tree.ts";
import type { Diff, DiffRow, Known, Lines } from "./data.ts";

export type Weight = "area_j" | "area_s";

export interface Frame {
    name: string;
    /** The line; -1: the whole, or the rest that is left out. */
    line: number;
    /** Its own, without children. */
    value: number;
    /** With them. */
    total: number;
    children: Frame[];
}

/** Maximum depth; deeper lines count for the frame around them. */
const DEEPEST = 40;

/** The greatest depth of frames. */
export function levelsOf(frame: Frame): number {
    return 1 + frame.children.reduce((most, child) => Math.max(most, levelsOf(child)), 0);
}

/** Lines without area are omitted: their names could not be read. */
export function framesOf(lines: Lines, weight: Weight, wholeName: string): Frame {
    const tree = treeOf(lines);
    const make = (i: number): Frame => {
        const children = tree.children[i]!.map(make).filter((child) => child.total > 0);
        const value = lines[weight][i]!;
        const total = children.reduce((sum, child) => sum + child.total, value);
        const name = labelOf(lines, i);
        if (lines.depth[i]! >= DEEPEST) return { name, line: i, value: total, total, children: [] };
        return { name, line: i, value, total, children };
    };
    const children = tree.roots.map(make).filter((child) => child.total > 0);
    const rest = lines.left_out[weight];
    if (rest > 0)
        children.push({
            name: `${lines.left_out.rows} smaller rows`,
            line: -1,
            value: rest,
            total: rest,
            children: [],
        });
    const total = children.reduce((sum, child) => sum + child.total, 0);
    return { name: wholeName, line: -1, value: 0, total, children };
}

export interface Match {
    rows: number;
    energy_j: Known;
    seconds: number;
}

/** The sum of all lines whose label has the words, each with its children, and none twice. */
export function sumOf(lines: Lines, words: string): Match {
    const tree = treeOf(lines);
    const sum: Match = { rows: 0, energy_j: 0, seconds: 0 };
    const walk = (level: readonly number[]): void => {
        for (const i of level) {
            if (!isMatch(labelOf(lines, i), words)) {
                walk(tree.children[i]!);
                continue;
            }
            const energy = lines.energy_j[i]!;
            sum.rows += 1;
            sum.energy_j = energy === null || sum.energy_j === null ? null : sum.energy_j + energy;
            sum.seconds += lines.busy_s[i]!;
        }
    };
    walk(tree.roots);
    return sum;
}

export function isMatch(label: string, words: string): boolean {
    return words !== "" && label.toLowerCase().includes(words.toLowerCase());
}

/** A pattern of a path ("blocks.*.mlp") as an expression for whole paths. */
export function patternOf(path: string): RegExp {
    const parts = path.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`);
}

/** The change of a line's energy, of equal layers that of their sum; null: not on both sides. */
export function changesOf(diff: Diff, lines: Lines): (i: number) => Known {
    const byKey = new Map<string, DiffRow>();
    for (const row of diff.rows) byKey.set(`${row.kind} ${row.path}`, row);
    const known = new Map<number, Known>();
    const find = (i: number): Known => {
        const [path, kind] = [pathOf(lines, i), lines.kind[i]!];
        const one = byKey.get(`${kind} ${path}`);
        if (one !== undefined) return one.change;
        if (lines.x[i] === 1) return null;
        const pattern = patternOf(path);
        let [a, b] = [0, 0];
        for (const row of diff.rows) {
            if (row.kind !== kind || !pattern.test(row.path)) continue;
            a += row.a_j ?? NaN;
            b += row.b_j ?? NaN;
        }
        return a > 0 && Number.isFinite(b) ? b / a - 1 : null;
    };
    return (i) => {
        if (!known.has(i)) known.set(i, find(i));
        return known.get(i)!;
    };
}
