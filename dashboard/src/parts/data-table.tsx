import { Table, VisuallyHidden } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'

export type Column<Row> = {
  title: string
  cell: (row: Row) => ReactNode
  /** Aligned at the end, with figures of one width. */
  isNumber?: boolean
  /** On phones, where the header is hidden, the title stands before the value. */
  isLabelled?: boolean
  /** Buttons: aligned at the end, with a title for screen readers only. */
  isAction?: boolean
  className?: string | undefined
  width?: number
}

/** How a table looks on phones: each row a card, each row a line or two, or the table as it is. */
const LOOKS = {
  cards: { className: 'stacking', fz: 'sm', verticalSpacing: 'sm', horizontalSpacing: 'md' },
  lines: { className: 'stacking stacking-lines', fz: 'sm', verticalSpacing: 'xs', horizontalSpacing: 'md' },
  compact: { fz: 'xs', verticalSpacing: 4, horizontalSpacing: 'xs' },
  fixed: { fz: 'sm', verticalSpacing: 6, horizontalSpacing: 'xs', layout: 'fixed' },
} as const

export function DataTable<Row>(props: {
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string | number
  look?: keyof typeof LOOKS
  /** Below a row, across all columns. */
  detail?: (row: Row) => ReactNode
}) {
  const { columns, rows, keyOf, look = 'cards', detail } = props
  return (
    <div className="scroll-x">
      <Table {...LOOKS[look]}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th
                key={column.title}
                {...(column.width !== undefined && { w: column.width })}
                {...(column.isNumber && { className: 'end' })}
              >
                {column.isAction ? <VisuallyHidden>{column.title}</VisuallyHidden> : column.title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => {
            const below = detail?.(row)
            return (
              <Fragment key={keyOf(row)}>
                <Table.Tr>
                  {columns.map((column) => (
                    <Table.Td
                      key={column.title}
                      className={cellClass(column)}
                      {...(column.isLabelled && { 'data-label': column.title })}
                    >
                      {column.cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
                {below && (
                  <Table.Tr>
                    <Table.Td colSpan={columns.length}>{below}</Table.Td>
                  </Table.Tr>
                )}
              </Fragment>
            )
          })}
        </Table.Tbody>
      </Table>
    </div>
  )
}

function cellClass({
  isNumber = false,
  isAction = false,
  className = '',
}: Omit<Column<never>, 'cell'>): string {
  return [isNumber ? 'number end' : isAction ? 'end' : '', className].join(' ').trim()
}
