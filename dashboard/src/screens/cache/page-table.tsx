// biome-ignore-all lint/a11y/useSemanticElements: a table element needs all of its rows in the document.
import { Badge, Checkbox } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import IconDots from '@tabler/icons-react/dist/esm/icons/IconDots.mjs'
import IconRefresh from '@tabler/icons-react/dist/esm/icons/IconRefresh.mjs'
import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, lazy, Suspense, useEffect, useId, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'

import type { PageFilter } from '../../api/queries.ts'
import type { ListedPage, PageOrder } from '../../api/types.ts'
import { ago, visitedAgo } from '../../format.ts'
import { FRESHNESS, OutcomeBadge, shortOutcome } from '../../parts/badges.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { pagePath } from '../../route-map.ts'
import classes from './cache.module.css'
import { ORDERS } from './page-filter.ts'
import { between, isSelected, NONE_SELECTED, type Selection, withSelected } from './selection.ts'

/** The menu is loaded when the first one opens. */
const PageMenu = lazy(async () => ({ default: (await import('./page-menu.tsx')).PageMenu }))

/** Heights in CSS pixels, as in the style sheet. */
const ROW = { wide: 40, narrow: 88 }
const HEAD = 44
/** Rows drawn beyond the visible ones, so that scrolling shows no gap. */
const SPARE_ROWS = 8
const MORE_BEFORE = 60

type Order = { by: PageFilter['by']; isDescending: boolean }

type Props = {
  domain: string
  rows: readonly ListedPage[]
  matching: number
  selection: Selection
  onSelect: (selection: Selection) => void
  order: Order
  onOrder: (order: Order) => void
  hasMore: boolean
  onMore: () => void
  isDomainActive: boolean
  /** Null: the role may not. */
  onRenderAgain: ((path: string) => void) | null
  onDeed: ((deed: 'purge' | 'refresh', path: string) => void) | null
}

const KEYS =
  'Arrows move, Enter opens, Space selects, Shift extends, R renders the page again, M opens its menu.'

/**
 * One tab stop: arrows move, Enter opens, Space selects, Shift extends, Ctrl+A selects all matching pages, R renders again, M
 * opens the menu.
 */
export function PageTable(props: Props) {
  const { domain, rows, selection } = props
  const id = useId()
  const rowHeight = useMediaQuery('(max-width: 45em)') === true ? ROW.narrow : ROW.wide
  const grid = useRef<HTMLDivElement>(null)
  const sight = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => grid.current,
    estimateSize: () => rowHeight,
    overscan: SPARE_ROWS,
    // The head stays above the rows.
    scrollMargin: HEAD,
    scrollPaddingStart: HEAD,
  })
  useEffect(() => sight.measure(), [sight, rowHeight])
  const [menuOf, setMenuOf] = useState<string | null>(null)
  const keyboard = useKeyboard(props, rowHeight, sight, setMenuOf)
  const { at } = keyboard
  const drawn = sight.getVirtualItems()
  const isNearEnd = (drawn.at(-1)?.index ?? 0) >= rows.length - MORE_BEFORE
  const { hasMore, onMore } = props
  useEffect(() => {
    if (hasMore && isNearEnd) onMore()
  }, [hasMore, isNearEnd, rows.length])
  return (
    <div
      ref={grid}
      role="grid"
      aria-label={`Cached pages of ${domain}`}
      aria-describedby={`${id}-keys`}
      aria-rowcount={props.matching + 1}
      aria-multiselectable
      aria-activedescendant={drawn.some(({ index }) => index === at) ? `${id}-${at}` : undefined}
      tabIndex={0}
      className={classes.grid}
      onKeyDown={keyboard.press}
    >
      <span id={`${id}-keys`} hidden>
        {KEYS}
      </span>
      <Head {...props} />
      <div role="rowgroup" className={classes.body} style={{ height: sight.getTotalSize() }}>
        {drawn.map(({ index: row, start }) => {
          const page = rows[row]
          if (page === undefined) return null
          return (
            <PageRow
              key={page.path}
              id={`${id}-${row}`}
              row={row}
              top={start - HEAD}
              page={page}
              domain={domain}
              isSelected={isSelected(selection, page.path)}
              isActive={row === at}
              onToggle={keyboard.toggle}
              isMenuOpen={menuOf === page.path}
              onMenu={(isOpen) => setMenuOf(isOpen ? page.path : null)}
              isDomainActive={props.isDomainActive}
              onRenderAgain={props.onRenderAgain}
              onDeed={props.onDeed}
            />
          )
        })}
      </div>
    </div>
  )
}

/** The active row, and what keys do to it. Shift extends the selection from the anchor, the last row chosen without it. */
function useKeyboard(
  props: Props,
  rowHeight: number,
  sight: Virtualizer<HTMLDivElement, HTMLDivElement>,
  openMenu: (path: string) => void,
) {
  const { domain, rows, selection, onSelect, onRenderAgain } = props
  const [, navigate] = useLocation()
  const [active, setActive] = useState(0)
  const anchor = useRef(0)
  const paths = rows.map(({ path }) => path)
  const at = Math.min(active, rows.length - 1)

  const moveTo = (row: number, isExtending: boolean) => {
    const to = Math.max(0, Math.min(rows.length - 1, row))
    if (isExtending) onSelect(withSelected(selection, between(paths, anchor.current, to), true, paths))
    else anchor.current = to
    setActive(to)
    sight.scrollToIndex(to)
  }
  const toggle = (row: number) => {
    const path = paths[row]
    if (path === undefined) return
    anchor.current = row
    setActive(row)
    onSelect(withSelected(selection, [path], !isSelected(selection, path), paths))
  }
  const openPage = (event: KeyboardEvent) => {
    const path = paths[at]
    // Enter on a button or box within the table is not about the active row.
    if (path === undefined || event.target !== event.currentTarget) return false
    navigate(pagePath(domain, path))
    return true
  }
  const renderAgain = () => {
    const path = paths[at]
    if (path === undefined || onRenderAgain === null || !props.isDomainActive) return false
    onRenderAgain(path)
    return true
  }
  const openMenuOfRow = () => {
    const path = paths[at]
    if (path === undefined) return false
    openMenu(path)
    return true
  }
  /** Returns whether the key means something here. */
  const act = (event: KeyboardEvent): boolean => {
    const height = (sight.scrollRect?.height ?? 0) - HEAD
    const rowsInSight = Math.max(1, Math.floor(height / rowHeight) - 1)
    const row = rowAfter(event.key, { at, last: rows.length - 1, rowsInSight })
    if (row !== null) {
      moveTo(row, event.shiftKey)
      return true
    }
    if (event.key === 'Enter') return openPage(event)
    if (isPlain(event, 'r')) return renderAgain()
    if (isPlain(event, 'm')) return openMenuOfRow()
    if (event.key === ' ') toggle(at)
    else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) onSelect({ kind: 'matching' })
    else if (event.key === 'Escape') onSelect(NONE_SELECTED)
    else return false
    return true
  }
  const press = (event: KeyboardEvent) => {
    if (act(event)) event.preventDefault()
  }
  return { at, press, toggle }
}

function isPlain({ key, ctrlKey, metaKey, altKey }: KeyboardEvent, letter: string): boolean {
  return key.toLowerCase() === letter && !ctrlKey && !metaKey && !altKey
}

/** Returns the row that a key moves to, or null if the key does not move. */
function rowAfter(key: string, rows: { at: number; last: number; rowsInSight: number }): number | null {
  const { at, last, rowsInSight } = rows
  switch (key) {
    case 'ArrowDown':
      return at + 1
    case 'ArrowUp':
      return at - 1
    case 'PageDown':
      return at + rowsInSight
    case 'PageUp':
      return at - rowsInSight
    case 'Home':
      return 0
    case 'End':
      return last
    default:
      return null
  }
}

function Head({ rows, selection, onSelect, order, onOrder }: Props) {
  const areAll = rows.every(({ path }) => isSelected(selection, path))
  const areSome = rows.some(({ path }) => isSelected(selection, path))
  return (
    <div role="row" tabIndex={-1} aria-rowindex={1} className={classes.head}>
      <span role="columnheader" tabIndex={-1} className={classes.choice}>
        <Checkbox
          aria-label="Select all that match"
          checked={areAll}
          indeterminate={!areAll && areSome}
          onChange={() => onSelect(areAll ? NONE_SELECTED : { kind: 'matching' })}
        />
      </span>
      {COLUMNS.map((column) => (
        <ColumnHead key={column.order} column={column} order={order} onOrder={onOrder} />
      ))}
      <span role="columnheader" tabIndex={-1}>
        <span className="visually-hidden">Actions</span>
      </span>
    </div>
  )
}

const ARROWS = { none: '', ascending: ' ↑', descending: ' ↓' } as const

/** The size is an order without a column. */
const COLUMNS = ORDERS.filter(({ order }) => order !== 'size')

/** The columns that narrow windows leave out. */
const HEAD_CLASSES: Partial<Record<PageOrder, string>> = {
  rendered: classes.rendered,
  last_crawler: classes.crawler,
}

/** A second press of the same head turns the order. */
function ColumnHead(props: { column: (typeof ORDERS)[number]; order: Order; onOrder: Props['onOrder'] }) {
  const { column, order, onOrder } = props
  const direction = directionOf(column.order, order)
  return (
    <span role="columnheader" tabIndex={-1} aria-sort={direction} className={HEAD_CLASSES[column.order]}>
      <button
        type="button"
        className={classes.sort}
        onClick={() => onOrder({ by: column.order, isDescending: direction === 'ascending' })}
      >
        {column.title}
        <span aria-hidden>{ARROWS[direction]}</span>
      </button>
    </span>
  )
}

function directionOf(column: PageOrder, order: Order): keyof typeof ARROWS {
  if (column !== order.by) return 'none'
  return order.isDescending ? 'descending' : 'ascending'
}

type RowProps = {
  id: string
  row: number
  top: number
  page: ListedPage
  domain: string
  isSelected: boolean
  isActive: boolean
  onToggle: (row: number) => void
  isMenuOpen: boolean
  onMenu: (isOpen: boolean) => void
} & Pick<Props, 'isDomainActive' | 'onRenderAgain' | 'onDeed'>

function PageRow(props: RowProps) {
  const { page } = props
  const { last_crawler: crawler, last_render: render } = page
  const cell = (className: string | undefined) => ({ role: 'gridcell', tabIndex: -1, className })
  return (
    <div
      id={props.id}
      role="row"
      tabIndex={-1}
      aria-rowindex={props.row + 2}
      aria-selected={props.isSelected}
      data-active={props.isActive || undefined}
      className={classes.row}
      style={{ top: props.top }}
    >
      <span {...cell(classes.choice)}>
        <Checkbox
          tabIndex={-1}
          aria-label={`Select ${page.path}`}
          checked={props.isSelected}
          onChange={() => props.onToggle(props.row)}
        />
      </span>
      <span {...cell(classes.path)}>
        <Link tabIndex={-1} href={pagePath(props.domain, page.path)} title={page.path}>
          <CutPath path={page.path} />
        </Link>
      </span>
      <span {...cell(classes.status)}>
        {page.status === 200 ? (
          <span className="visually-hidden">200</span>
        ) : (
          <Badge color={page.status < 400 ? 'gray' : 'yellow'}>{page.status}</Badge>
        )}
      </span>
      <span {...cell(classes.fresh)}>
        <FreshnessBar page={page} />
      </span>
      <span {...cell(classes.rendered)}>
        <TimeText at={page.rendered_at} />
      </span>
      <span {...cell(classes.crawler)}>
        {crawler === null ? (
          <span className="quiet">none yet</span>
        ) : (
          <>
            <span className={classes.name} title={`${crawler.name} (${crawler.category})`}>
              {crawler.name}
            </span>{' '}
            <span className="quiet">
              <TimeText at={crawler.visited_at} words={visitedAgo} />
            </span>
          </>
        )}
      </span>
      <span {...cell(classes.outcome)}>
        <LastOutcome outcome={render?.outcome ?? null} />
      </span>
      <span {...cell(classes.actions)}>
        <RowActions {...props} />
      </span>
    </div>
  )
}

const PATH_END_CHARS = 16

/** The middle is cut where there is no room, because paths often differ at their end. */
function CutPath({ path }: { path: string }) {
  if (path.length <= PATH_END_CHARS) return <span className={classes.pathEnd}>{path}</span>
  return (
    <span className={classes.cut}>
      <span className={classes.pathStart}>{path.slice(0, -PATH_END_CHARS)}</span>
      <span className={classes.pathEnd}>{path.slice(-PATH_END_CHARS)}</span>
    </span>
  )
}

const FRESHNESS_STEPS = { fresh: 4, stale: 3, kept: 2, gone: 1 } as const
const FRESHNESS_NAMES = { fresh: 'Fresh', stale: 'Stale', kept: 'Kept', gone: 'Gone' } as const

/** Four steps, with words for screen readers, on hover and in the active row. */
function FreshnessBar({ page: { freshness, fresh_until: until } }: { page: ListedPage }) {
  const name = FRESHNESS_NAMES[freshness]
  const when = freshness === 'fresh' ? `expires ${ago(until)}` : `since ${ago(until)}`
  return (
    <>
      <span
        role="img"
        aria-label={`${name}: ${when}`}
        title={`${name}: ${when}. ${FRESHNESS[freshness]}`}
        className={classes.steps}
        data-freshness={freshness}
      >
        {[1, 2, 3, 4].map((step) => (
          <span
            key={step}
            className={classes.step}
            data-on={step <= FRESHNESS_STEPS[freshness] || undefined}
          />
        ))}
      </span>
      <span className={classes.freshName} aria-hidden>
        {name}
      </span>
    </>
  )
}

/** The usual outcome says nothing new. */
function LastOutcome({ outcome }: { outcome: string | null }) {
  if (outcome === null) return <span className="quiet">unknown</span>
  if (outcome === 'rendered' || outcome === 'static')
    return <span className="visually-hidden">{shortOutcome(outcome)}</span>
  return <OutcomeBadge outcome={outcome} />
}

function RowActions(props: RowProps) {
  const { page, domain, onRenderAgain, onDeed, onMenu } = props
  const { path } = page
  return (
    <>
      {onRenderAgain !== null && (
        <button
          type="button"
          tabIndex={-1}
          className={classes.again}
          aria-label={`Render again: ${path}`}
          disabled={!props.isDomainActive}
          onClick={() => onRenderAgain(path)}
        >
          <IconRefresh size={16} aria-hidden />
          <span className={classes.againName}>Render again</span>
        </button>
      )}
      <button
        type="button"
        tabIndex={-1}
        className={classes.more}
        aria-label={`More for ${path}`}
        aria-haspopup="menu"
        aria-expanded={props.isMenuOpen}
        onClick={() => onMenu(true)}
      >
        <IconDots size={16} aria-hidden />
      </button>
      {props.isMenuOpen && (
        <Suspense fallback={null}>
          <PageMenu
            domain={domain}
            path={path}
            isActive={props.isDomainActive}
            onDeed={onDeed === null ? null : (deed) => onDeed(deed, path)}
            close={() => onMenu(false)}
          />
        </Suspense>
      )}
    </>
  )
}
