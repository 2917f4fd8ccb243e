import { Button, Table, VisuallyHidden } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'

export type Column<Row> = {
  title: string
  cell: (row: Row) => ReactNode
  /** `action`: the title is for screen readers. `labelled`, `number`: phones show the title beside the value. */
  kind?: 'number' | 'labelled' | 'action'
  className?: string | undefined
  width?: number
}

/** On phones, a row is a card, a line or two, or a table row. */
const LOOKS = {
  cards: { className: 'stacking', fz: 'sm', verticalSpacing: 'sm', horizontalSpacing: 'md' },
  lines: { className: 'stacking stacking-lines', fz: 'sm', verticalSpacing: 'xs', horizontalSpacing: 'md' },
  compact: { fz: 'xs', verticalSpacing: 4, horizontalSpacing: 'xs' },
  fixed: { fz: 'sm', verticalSpacing: 6, horizontalSpacing: 'xs', layout: 'fixed' },
} as const

export function DataTable<Row>(props: {
  columns: readonly Column<NoInfer<Row>>[]
  rows: readonly Row[]
  keyOf: (row: NoInfer<Row>) => string | number
  look?: keyof typeof LOOKS
  detail?: (row: NoInfer<Row>) => ReactNode
  /** Shown without rows. */
  empty?: ReactNode
}) {
  const { columns, rows, keyOf, look = 'cards', detail, empty } = props
  if (rows.length === 0 && empty !== undefined) return empty
  return (
    <div className="scroll-x">
      <Table {...LOOKS[look]}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column) => (
              <Table.Th
                key={column.title}
                {...(column.width !== undefined && { w: column.width })}
                {...(column.kind === 'number' && { className: 'end' })}
              >
                {column.kind === 'action' ? <VisuallyHidden>{column.title}</VisuallyHidden> : column.title}
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
                      {...((column.kind === 'labelled' || column.kind === 'number') && {
                        'data-label': column.title,
                      })}
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

/** `of`: what it is about, for screen readers. */
export function RowButton(props: { label: string; of?: string; isOff?: boolean; onClick: () => void }) {
  const { label, of, isOff = false, onClick } = props
  return (
    <Button
      size="compact-sm"
      variant="default"
      {...(of !== undefined && { 'aria-label': `${label} ${of}` })}
      disabled={isOff}
      onClick={onClick}
    >
      {label}
    </Button>
  )
}

function cellClass({ kind, className = '' }: Pick<Column<never>, 'kind' | 'className'>): string {
  return [kind === 'number' ? 'number end' : kind === 'action' ? 'end' : '', className].join(' ').trim()
}

/** The browser downloads it with the session cookie. */
export function CsvButton(props: { href: string; label: string; children?: string }) {
  const { href, label, children = 'CSV' } = props
  return (
    <Button component="a" href={href} download variant="default" size="xs" aria-label={label}>
      {children}
    </Button>
  )
}
