// The used part of d3-flame-graph, which ships without types.
declare module "d3-flame-graph" {
    import type { Selection } from "d3-selection";

    export interface FlameNode<Data> {
        data: Data;
        parent: FlameNode<Data> | null;
        children?: FlameNode<Data>[];
        highlight?: boolean;
        descendants(): FlameNode<Data>[];
    }

    export interface FlameGraph<Data = any> {
        (selection: Selection<HTMLElement, Data, null, undefined>): void;
        width(width: number): this;
        height(height: number): this;
        cellHeight(height: number): this;
        inverted(on: boolean): this;
        selfValue(on: boolean): this;
        minFrameSize(pixels: number): this;
        transitionDuration(milliseconds: number): this;
        setLabelHandler(label: (node: FlameNode<Data>) => string): this;
        setSearchHandler(handler: () => void): this;
        setSearchMatch(match: (node: FlameNode<Data>, words: string) => boolean): this;
        setColorMapper(colour: (node: FlameNode<Data>) => string): this;
        onHover(handler: (node: FlameNode<Data>) => void): this;
        onClick(): (node: FlameNode<Data>) => void;
        onClick(handler: (node: FlameNode<Data>) => void): this;
        search(words: string): void;
        clear(): void;
        zoomTo(node: FlameNode<Data>): void;
    }

    export default function flamegraph<Data>(): FlameGraph<Data>;
}

declare module "d3-selection" {
    export interface Selection<Element, Data, Parent, ParentData> {
        datum(): Data;
        datum<New>(data: New): Selection<Element, New, Parent, ParentData>;
        call(what: (selection: Selection<Element, Data, Parent, ParentData>) => void): this;
    }
    export function select<E extends Element, Data = unknown>(element: E): Selection<E, Data, null, undefined>;
}
