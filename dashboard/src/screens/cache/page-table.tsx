// biome-ignore-all lint/a11y/useSemanticElements: of a table element all rows would have to be in the document.
import { Anchor, Badge, Checkbox } from '@mantine/core'
import { useElementSize, useMediaQuery, useMergedRef } from '@mantine/hooks'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'

import type { ListedPage, PageOrder } from '../../api/types.ts'
import { OutcomeBadge } from '../../parts/badges.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { rowWindow, scrollTo } from '../../parts/windowed-rows.ts'
import { pagePath } from '../../route-map.ts'
import classes from './cache.module.css'
import { FRESHNESS, ORDERS, size } from './page-words.ts'
import { between, isChosen, NOTHING_CHOSEN, type Selection, withChosen } from './selection.ts'

/** CSS pixels of a row, on wide screens and on phones; the style sheet has the same. */
const ROW = { wide: 44, narrow: 88 }
/** So many rows before the end of what is loaded, more is asked for. */
const MORE_BEFORE = 60

/**
 * A table of any length: only the rows in sight are in the document. It is one
 * stop for the keyboard: arrows move, Space chooses, Shift extends, Ctrl+A
 * chooses all that match, Enter opens.
 */
export function PageTable(props: {
  domain: string
  rows: readonly ListedPage[]
  matching: number
  selection: Selection
  onSelect: (selection: Selection) => void
  order: { by: PageOrder; isDescending: boolean }
  onOrder: (order: { by: PageOrder; isDescending: boolean }) => void
  hasMore: boolean
  onMore: () => void
}) {
  const { domain, rows, selection, order } = props
  const id = useId()
  const isNarrow = useMediaQuery('(max-width: 45em)') === true
  const rowHeight = isNarrow ? ROW.narrow : ROW.wide
  const [, navigate] = useLocation()
  const { ref: measured, height } = useElementSize<HTMLDivElement>()
  const box = useRef<HTMLDivElement>(null)
  const body = useMergedRef(measured, box)
  const [scrolled, setScrolled] = useState(0)
  const [active, setActive] = useState(0)
  /** Where a range began that Shift extends. */
  const anchor = useRef(0)
  const paths = rows.map(({ path }) => path)
  const at = Math.min(active, rows.length - 1)
  const { start, end } = rowWindow({ rows: rows.length, rowHeight, scrolled, height: height || 600 })

  const scroll = () => {
    const top = box.current?.scrollTop ?? 0
    setScrolled(top)
    if (props.hasMore && (top + height) / rowHeight > rows.length - MORE_BEFORE) props.onMore()
  }
  const moveTo = (row: number, isExtending: boolean) => {
    const to = Math.max(0, Math.min(rows.length - 1, row))
    if (isExtending) {
      props.onSelect(withChosen(selection, between(paths, anchor.current, to), true, paths))
    } else anchor.current = to
    setActive(to)
    if (box.current !== null) {
      box.current.scrollTop = scrollTo(to, { rowHeight, scrolled: box.current.scrollTop, height })
    }
  }
  const toggle = (row: number) => {
    const path = paths[row]
    if (path === undefined) return
    anchor.current = row
    setActive(row)
    props.onSelect(withChosen(selection, [path], !isChosen(selection, path), paths))
  }
  const press = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / rowHeight) - 1)
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    }
    const move = moves[event.key]
    const path = paths[at]
    if (move !== undefined) moveTo(move, event.shiftKey)
    else if (event.key === ' ') toggle(at)
    else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) props.onSelect({ kind: 'matching' })
    else if (event.key === 'Escape') props.onSelect(NOTHING_CHOSEN)
    else if (event.key === 'Enter' && path !== undefined && event.target === event.currentTarget) {
      navigate(pagePath(domain, path))
    } else return
    event.preventDefault()
  }
  const areAll = rows.every(({ path }) => isChosen(selection, path))
  const areSome = rows.some(({ path }) => isChosen(selection, path))
  return (
    <div
      role="grid"
      aria-label={`Stored pages of ${domain}`}
      aria-rowcount={props.matching + 1}
      aria-multiselectable
      aria-activedescendant={at >= start && at < end ? `${id}-${at}` : undefined}
      tabIndex={0}
      className={classes.grid}
      onKeyDown={press}
    >
      <div role="row" tabIndex={-1} aria-rowindex={1} className={classes.head}>
        <span role="columnheader" tabIndex={-1} className={classes.choice}>
          <Checkbox
            aria-label="Choose all that match"
            checked={areAll}
            indeterminate={!areAll && areSome}
            onChange={() => props.onSelect(areAll ? NOTHING_CHOSEN : { kind: 'matching' })}
          />
        </span>
        {ORDERS.map((each) => {
          const isOn = each.order === order.by
          return (
            <span
              key={each.order}
              role="columnheader"
              tabIndex={-1}
              aria-sort={isOn ? (order.isDescending ? 'descending' : 'ascending') : 'none'}
            >
              <button
                type="button"
                className={classes.sort}
                onClick={() =>
                  props.onOrder({ by: each.order, isDescending: isOn ? !order.isDescending : false })
                }
              >
                {each.title}
                <span aria-hidden>{isOn ? (order.isDescending ? ' ↓' : ' ↑') : ''}</span>
              </button>
            </span>
          )
        })}
      </div>
      <div ref={body} role="rowgroup" className={classes.body} onScroll={scroll}>
        <div role="presentation" className={classes.length} style={{ height: rows.length * rowHeight }}>
          {rows.slice(start, end).map((page, offset) => {
            const row = start + offset
            return (
              <PageRow
                key={page.path}
                id={`${id}-${row}`}
                row={row}
                top={row * rowHeight}
                page={page}
                domain={domain}
                isChosen={isChosen(selection, page.path)}
                isActive={row === at}
                onToggle={toggle}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

function PageRow(props: {
  id: string
  row: number
  top: number
  page: ListedPage
  domain: string
  isChosen: boolean
  isActive: boolean
  onToggle: (row: number) => void
}) {
  const { page } = props
  const { last_crawler: crawler, last_render: render } = page
  const freshness = FRESHNESS[page.freshness]
  return (
    <div
      id={props.id}
      role="row"
      tabIndex={-1}
      aria-rowindex={props.row + 2}
      aria-selected={props.isChosen}
      data-active={props.isActive || undefined}
      className={classes.row}
      style={{ top: props.top }}
    >
      <span role="gridcell" tabIndex={-1} className={classes.choice}>
        <Checkbox
          tabIndex={-1}
          aria-label={`Choose ${page.path}`}
          checked={props.isChosen}
          onChange={() => props.onToggle(props.row)}
        />
      </span>
      <span role="gridcell" tabIndex={-1} className={classes.path}>
        <Anchor
          component={Link}
          tabIndex={-1}
          href={pagePath(props.domain, page.path)}
          title={page.path}
          size="sm"
        >
          {page.path}
        </Anchor>
      </span>
      <span role="gridcell" tabIndex={-1} className={classes.status}>
        <Badge variant="light" color={page.status < 400 ? 'gray' : 'yellow'}>
          {page.status}
        </Badge>
      </span>
      <span role="gridcell" tabIndex={-1} className={classes.size}>
        {size(page.html_bytes)}
      </span>
      <span role="gridcell" tabIndex={-1} className={classes.rendered}>
        <TimeText at={page.rendered_at} />
      </span>
      <span role="gridcell" tabIndex={-1} className={classes.fresh} title={freshness.meaning}>
        {page.freshness === 'fresh' ? (
          <>
            ends <TimeText at={page.fresh_until} />
          </>
        ) : (
          <>
            {freshness.word} since <TimeText at={page.fresh_until} />
          </>
        )}
      </span>
      <span role="gridcell" tabIndex={-1} className={classes.crawler}>
        {crawler === null ? (
          <span className="quiet">none yet</span>
        ) : (
          <>
            <span className={classes.name} title={`${crawler.name} (${crawler.category})`}>
              {crawler.name}
            </span>{' '}
            <span className="quiet">
              <TimeText at={crawler.asked_at} />
            </span>
          </>
        )}
      </span>
      <span role="gridcell" tabIndex={-1} className={classes.outcome}>
        {render === null ? <span className="quiet">unknown</span> : <OutcomeBadge outcome={render.outcome} />}
      </span>
    </div>
  )
}
