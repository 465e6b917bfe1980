// Lines as the nodes of a flame graph, whose areas add up to the whole.
import { labelOf, treeOf } from "./tree.ts";
import type { Lines } from "./data.ts";

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
