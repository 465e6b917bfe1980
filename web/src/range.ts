// The visible time interval of a chart, and how it is moved.

export interface Range {
    from: number;
    to: number;
}

/** The smallest visible share of the whole: readings are no finer. */
const NARROWEST = 1 / 2000;

/** Clamps a range to the whole and to the smallest width. */
export function within(range: Range, whole: Range): Range {
    const most = whole.to - whole.from;
    const width = Math.min(most, Math.max(range.to - range.from, most * NARROWEST));
    const middle = (range.from + range.to) / 2;
    const from = Math.min(Math.max(middle - width / 2, whole.from), whole.to - width);
    return { from, to: from + width };
}

/** Zooms around a fixed point; `factor` below 1 shows less. */
export function zoomed(range: Range, factor: number, around: number, whole: Range): Range {
    const width = Math.min(
        whole.to - whole.from,
        Math.max((range.to - range.from) * factor, (whole.to - whole.from) * NARROWEST),
    );
    const place = (around - range.from) / (range.to - range.from);
    return within({ from: around - place * width, to: around + (1 - place) * width }, whole);
}

/** Moves by a share of its own width. */
export function moved(range: Range, by: number, whole: Range): Range {
    const step = by * (range.to - range.from);
    const width = range.to - range.from;
    const from = Math.min(Math.max(range.from + step, whole.from), whole.to - width);
    return { from, to: from + width };
}

/** The range after a key; null: the key has no effect here. */
export function keyed(key: string, range: Range, whole: Range): Range | null {
    const middle = (range.from + range.to) / 2;
    switch (key) {
        case "+":
        case "=":
            return zoomed(range, 0.5, middle, whole);
        case "-":
            return zoomed(range, 2, middle, whole);
        case "ArrowLeft":
            return moved(range, -0.25, whole);
        case "ArrowRight":
            return moved(range, 0.25, whole);
        case "Home":
            return whole;
        default:
            return null;
    }
}
