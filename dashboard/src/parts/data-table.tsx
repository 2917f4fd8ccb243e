import { Button, Table, VisuallyHidden } from '@mantine/core'
import { Fragment, type MouseEvent, type ReactNode } from 'react'
import { downloadFile } from '../api/download.ts'
import { notifyFailed } from './notifications.tsx'

/** `action`: only screen readers get the title. `labelled`, `number`: phones show the title beside the value. */
type ColumnKind = 'number' | 'labelled' | 'action'

export type Column<Row> = {
  title: string
  cell: (row: Row) => ReactNode
  kind?: ColumnKind
  className?: string
  /** CSS pixels. Without a width the column is as wide as its content. */
  width?: number
}

/** 13 pixels. */
const TABLE_TEXT = '0.8125rem'

/** How a table looks. On phones, a row is a card, a line or two, or a table row. */
const LOOKS = {
  cards: { className: 'stacking', fz: TABLE_TEXT, verticalSpacing: 'sm', horizontalSpacing: 'md' },
  lines: {
    className: 'stacking stacking-lines',
    fz: TABLE_TEXT,
    verticalSpacing: 'xs',
    horizontalSpacing: 'md',
  },
  compact: { fz: 'xs', verticalSpacing: 4, horizontalSpacing: 'xs' },
  fixed: { fz: TABLE_TEXT, verticalSpacing: 6, horizontalSpacing: 'xs', layout: 'fixed' },
} as const

export function DataTable<Row>(props: {
  columns: readonly Column<NoInfer<Row>>[]
  rows: readonly Row[]
  keyOf: (row: NoInfer<Row>) => string | number
  look?: keyof typeof LOOKS
  /** Shown below the row, over its whole width. */
  detail?: (row: NoInfer<Row>) => ReactNode
  /** Shown instead of a table without rows. */
  empty?: ReactNode
}) {
  const { columns, rows, keyOf, look = 'cards', detail, empty } = props
  if (rows.length === 0 && empty !== undefined) return empty
  return (
    <div className="scroll-x">
      <Table {...LOOKS[look]}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ title, kind, width, className = '' }) => (
              <Table.Th key={title} w={width} className={kind === 'number' ? `end ${className}` : className}>
                {kind === 'action' ? <VisuallyHidden>{title}</VisuallyHidden> : title}
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
                    <Cell key={column.title} column={column} row={row} />
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

function Cell<Row>({
  column: { title, cell, kind, className = '' },
  row,
}: {
  column: Column<Row>
  row: Row
}) {
  const isLabelled = kind === 'labelled' || kind === 'number'
  const look = kind === undefined ? className : `${CELL_CLASSES[kind]} ${className}`
  return (
    <Table.Td className={look} data-label={isLabelled ? title : undefined}>
      {cell(row)}
    </Table.Td>
  )
}

const CELL_CLASSES: Record<ColumnKind, string> = { number: 'number end', labelled: '', action: 'end' }

/** `subject`: what the button is about. Only screen readers get it, because the row shows it already. */
export function RowButton(props: { label: string; subject?: string; isOff?: boolean; onClick: () => void }) {
  const { label, subject, isOff = false, onClick } = props
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-label={subject === undefined ? undefined : `${label} ${subject}`}
      disabled={isOff}
      onClick={onClick}
    >
      {label}
    </Button>
  )
}

/** A link alone would get the file of the account that was chosen last, and not of the one that this tab shows. */
export function CsvButton(props: { href: string; label: string; children?: string }) {
  const { href, label, children = 'CSV' } = props
  const download = (event: MouseEvent) => {
    event.preventDefault()
    downloadFile(href).catch((error) => notifyFailed('The file could not be downloaded', error))
  }
  return (
    <Button
      component="a"
      href={href}
      download
      onClick={download}
      variant="default"
      size="xs"
      aria-label={label}
    >
      {children}
    </Button>
  )
}
