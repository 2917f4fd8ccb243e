// biome-ignore-all lint/a11y/useSemanticElements: rows of a table element cannot be left undrawn.
// biome-ignore-all lint/a11y/useFocusableInteractive: the link of a row has the focus, not the row.
import type { PortfolioSort } from '@prepaint/contract/portfolio-orders.ts'
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { PortfolioDomain } from '../../api/types.ts'
import { between } from '../cache/selection.ts'
import { groupsOf } from './site-groups.ts'
import { SiteRow } from './site-row.tsx'
import classes from './sites.module.css'

type Props = {
  sites: readonly PortfolioDomain[]
  sort: PortfolioSort
  onSort: (sort: PortfolioSort) => void
  selected: ReadonlySet<string>
  /** Null: the role may do nothing with many sites. */
  onSelect: ((selected: ReadonlySet<string>) => void) | null
  menu: (site: PortfolioDomain, close: () => void) => ReactNode
}

/** All rows are in the document, up to 1,000: the browser's own search finds them. */
export function SiteList(props: Props) {
  const { sites, sort, selected, onSelect } = props
  const names = useMemo(() => sites.map(({ custom_domain }) => custom_domain), [sites])
  const anchor = useRef(0)
  const latest = useRef({ names, selected, onSelect })
  latest.current = { names, selected, onSelect }

  // The same function for all rows and all time: a change of the selection draws two rows, not 1,000.
  const toggle = useCallback((at: number, isExtending: boolean) => {
    const { names, selected, onSelect } = latest.current
    const isOn = !selected.has(names[at]!)
    const changed = isExtending ? between(names, anchor.current, at) : [names[at]!]
    anchor.current = at
    const next = new Set(selected)
    for (const name of changed) {
      if (isOn) next.add(name)
      else next.delete(name)
    }
    onSelect?.(next)
  }, [])
  const [open, setOpen] = useState<{ site: PortfolioDomain; top: number; left: number } | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const openMenu = useCallback((site: PortfolioDomain, button: HTMLElement) => {
    const frame = box.current!.getBoundingClientRect()
    const place = button.getBoundingClientRect()
    setOpen({ site, top: place.bottom - frame.top, left: place.right - frame.left })
  }, [])

  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>('[data-at]')
    if (row === null || event.ctrlKey || event.metaKey || event.altKey) return
    const at = Number(row.dataset['at'])
    if (event.key === 'x' && onSelect !== null) toggle(at, false)
    else if (event.key === 'X' && onSelect !== null) toggle(at, true)
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const next = at + (event.key === 'ArrowDown' ? 1 : -1)
      if (event.shiftKey && onSelect !== null && names[next] !== undefined) toggle(next, true)
      box.current?.querySelector<HTMLElement>(`[data-at="${next}"] a`)?.focus()
    } else return
    event.preventDefault()
  }

  useEffect(() => {
    const take = (event: globalThis.KeyboardEvent) => {
      if (!FIRST_KEYS.includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === 'x' && latest.current.onSelect === null) return
      // Fields, menus and dialogs have keys of their own.
      const { activeElement } = document
      if (activeElement !== document.body && activeElement?.id !== 'main') return
      const row = firstInSight(box.current)
      if (row === null) return
      event.preventDefault()
      row.querySelector<HTMLElement>('a')?.focus()
      if (event.key === 'x') toggle(Number(row.dataset['at']), false)
    }
    document.addEventListener('keydown', take)
    return () => document.removeEventListener('keydown', take)
  }, [toggle])

  const rowOf = (site: PortfolioDomain, at: number) => (
    <SiteRow
      key={site.id}
      site={site}
      at={at}
      isSelected={selected.has(site.custom_domain)}
      onToggle={onSelect === null ? null : toggle}
      onMenu={openMenu}
    />
  )
  return (
    <div
      role="table"
      aria-label="Sites"
      aria-rowcount={sites.length + 1}
      className={classes.list}
      ref={box}
      onKeyDown={press}
      style={{ position: 'relative' }}
    >
      <Head {...props} names={names} />
      {sort === 'attention' ? (
        <Groups sites={sites} rowOf={rowOf} />
      ) : (
        <div role="rowgroup">{sites.map(rowOf)}</div>
      )}
      {open !== null && (
        <div className={classes.menuAt} style={{ top: open.top, left: open.left }}>
          {props.menu(open.site, () => setOpen(null))}
        </div>
      )}
    </div>
  )
}

/** They take the first row while no row has the focus. */
const FIRST_KEYS: readonly string[] = ['ArrowDown', 'ArrowUp', 'x']

function firstInSight(list: HTMLElement | null): HTMLElement | null {
  const head = list?.querySelector('[role=columnheader]')?.parentElement
  const top = Math.max(0, head?.getBoundingClientRect().bottom ?? 0)
  const rows = [...(list?.querySelectorAll<HTMLElement>('[data-at]') ?? [])]
  return rows.find((row) => row.getBoundingClientRect().top >= top) ?? null
}

function Groups(props: {
  sites: readonly PortfolioDomain[]
  rowOf: (site: PortfolioDomain, at: number) => ReactNode
}) {
  let first = 0
  return groupsOf(props.sites).map(({ title, sites }) => {
    const from = first
    first += sites.length
    return (
      <div role="rowgroup" key={title} className={classes.group} aria-label={title}>
        <div role="row">
          <div role="cell">
            <h2 className={classes.heading}>{title}</h2>
          </div>
        </div>
        {sites.map((site, at) => props.rowOf(site, from + at))}
      </div>
    )
  })
}

type SortColumn = { order: PortfolioSort; title: string; className?: string | undefined }

const COLUMNS: readonly (
  | SortColumn
  | { title: string; className?: string | undefined; order?: undefined }
)[] = [
  { title: 'State', className: classes.shape },
  { title: 'Name', order: 'name' },
  { title: 'Attention', order: 'attention' },
  { title: '7 days', className: classes.spark },
  { title: 'Visits', order: 'visits', className: `${classes.headEnd} ${classes.visits}` },
  { title: 'Hit ratio', order: 'hit_ratio', className: `${classes.headEnd} ${classes.ratio}` },
  { title: 'Renders', order: 'renders', className: `${classes.headEnd} ${classes.renders}` },
  { title: 'Last crawler', order: 'last_crawler', className: classes.crawler },
  { title: 'Actions', className: classes.more },
]

const SHOWN_TITLES: readonly string[] = ['7 days']

function Head({ names, selected, onSelect, sort, onSort }: Props & { names: readonly string[] }) {
  const areAll = names.length > 0 && names.every((name) => selected.has(name))
  return (
    <div role="row" className={classes.head}>
      <span role="columnheader" className={classes.choice}>
        {onSelect !== null && (
          <input
            type="checkbox"
            className={classes.box}
            aria-label="Select all sites of the list"
            checked={areAll}
            ref={(box) => {
              if (box !== null) box.indeterminate = !areAll && selected.size > 0
            }}
            onChange={() => onSelect(areAll ? new Set() : new Set(names))}
          />
        )}
      </span>
      {COLUMNS.map(({ title, order, className }) => (
        <span
          key={title}
          role="columnheader"
          className={className}
          aria-sort={order && directionOf(order, sort)}
        >
          {order === undefined ? (
            <HeadTitle title={title} />
          ) : (
            <button
              type="button"
              className={classes.sort}
              data-on={sort.replace('-', '') === order || undefined}
              onClick={() => onSort(sort === order ? (`-${order}` as PortfolioSort) : order)}
            >
              {title}
              <span aria-hidden>{arrowOf(order, sort)}</span>
            </button>
          )}
        </span>
      ))}
    </div>
  )
}

function HeadTitle({ title }: { title: string }) {
  return SHOWN_TITLES.includes(title) ? title : <span className="visually-hidden">{title}</span>
}

function directionOf(order: PortfolioSort, sort: PortfolioSort): 'ascending' | 'descending' | 'none' {
  if (sort === order) return 'ascending'
  return sort === `-${order}` ? 'descending' : 'none'
}

function arrowOf(order: PortfolioSort, sort: PortfolioSort): string {
  if (sort === order) return ' ↓'
  return sort === `-${order}` ? ' ↑' : ''
}
