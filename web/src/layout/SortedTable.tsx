import {
  type ColumnDef,
  createSortedRowModel,
  rowSortingFeature,
  sortFn_alphanumeric,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { type ReactNode, useMemo } from "react";

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric },
});

/** A column: what it is sorted by, and how it is shown where that is more than its value. */
export interface SortedColumn<Row> {
  id: string;
  title: string;
  value: (row: Row) => string | number;
  cell?: (row: Row) => ReactNode;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly SortedColumn<Row>[];
  idOf: (row: Row) => string;
}

/** A table that its headings sort. The first column names the row. */
export function SortedTable<Row extends object>({ label, rows, columns, idOf }: Props<Row>) {
  const data = useMemo(() => [...rows], [rows]);
  const defined = useMemo(() => columns.map(definitionOf), [columns]);
  const table = useTable({ features, columns: defined, data, getRowId: idOf });
  return (
    <div className="scrolled" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map(({ id, column }) => (
                <th key={id} scope="col" aria-sort={SORTED[String(column.getIsSorted())]}>
                  <button
                    type="button"
                    className="heading"
                    onClick={() => {
                      column.toggleSorting();
                    }}
                  >
                    {columns.find((each) => each.id === id)?.title}
                    <span aria-hidden="true">{ARROWS[String(column.getIsSorted())]}</span>
                  </button>
                </th>
              ))}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id}>
              {columns.map((column, place) => {
                const shown = column.cell?.(row.original) ?? column.value(row.original);
                return place === 0 ? (
                  <th key={column.id} scope="row">
                    {shown}
                  </th>
                ) : (
                  <td key={column.id}>{shown}</td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const SORTED: Record<string, "ascending" | "descending"> = { asc: "ascending", desc: "descending" };
const ARROWS: Record<string, string> = { asc: " ↑", desc: " ↓" };

function definitionOf<Row extends object>(
  column: SortedColumn<Row>,
): ColumnDef<typeof features, Row> {
  return { id: column.id, accessorFn: column.value, sortFn: "alphanumeric", sortDescFirst: false };
}
