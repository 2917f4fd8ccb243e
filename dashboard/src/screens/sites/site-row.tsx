// biome-ignore-all lint/a11y/useSemanticElements: rows of a table element cannot be left undrawn.
// biome-ignore-all lint/a11y/useFocusableInteractive: the link of a row has the focus, not the row.
import { KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { type MouseEvent, memo, type ReactNode } from 'react'
import { Link } from 'wouter'
import type { PortfolioDomain } from '../../api/types.ts'
import { crawlerName } from '../../crawler-categories.ts'
import { ago, capitalised, compact, count, differenceToWeekBefore, exactTime, percent } from '../../format.ts'
import { domainPath } from '../../route-map.ts'
import { shortDifference } from './site-groups.ts'
import classes from './sites.module.css'
import { StateShape } from './state-shape.tsx'

/** Longer names are cut in the middle where the column is too narrow for them. */
const SHORT_CHARS = 20
/** Longer names are cut in the middle in every window. */
const WHOLE_CHARS = 34
const END_CHARS = 14
/** From this part of the quota on, a bar shows it. */
const NEARLY_USED = 0.8

type Props = {
  site: PortfolioDomain
  at: number
  isSelected: boolean
  /** Null: the role may do nothing with many sites. */
  onToggle: ((at: number, isExtending: boolean) => void) | null
  onMenu: (site: PortfolioDomain, button: HTMLElement) => void
}

/** A row of 48 pixels. All of it is the link of its name; box and menu lie above the link. */
export const SiteRow = memo(function SiteRow({ site, at, isSelected, onToggle, onMenu }: Props) {
  const { custom_domain: name, tags, visits } = site
  const reason = reasonOf(site)
  const toggle = (event: MouseEvent<HTMLInputElement>) => onToggle?.(at, event.shiftKey)
  return (
    <div role="row" className={classes.row} data-at={at} data-selected={isSelected || undefined}>
      <span role="cell" className={classes.choice}>
        {onToggle !== null && (
          <label className={classes.target}>
            <input
              type="checkbox"
              className={classes.box}
              aria-label={`Select ${name}`}
              checked={isSelected}
              onClick={toggle}
              readOnly
            />
          </label>
        )}
      </span>
      <span role="cell" className={classes.shape}>
        <StateShape state={site.state} />
      </span>
      <span role="cell" className={classes.name} data-alone={reason === null || undefined}>
        <Link
          href={domainPath('domain', name)}
          className={classes.link}
          title={name.length > WHOLE_CHARS ? name : undefined}
        >
          <Cut text={name} />
        </Link>
        {tags.length > 0 && (
          <span className={classes.tags} title={tags.join(', ')}>
            {tags.map((tag) => (
              <span key={tag} className={classes.tag}>
                {tag}
              </span>
            ))}
          </span>
        )}
      </span>
      <span role="cell" className={classes.reason}>
        {reason}
      </span>
      <span role="cell" className={classes.spark}>
        <Sparkline days={visits.days} />
      </span>
      <span role="cell" className={classes.visits} title={visitsTitle(visits)}>
        {compact(visits.total)}{' '}
        <span className={classes.change}>{shortDifference(visits.total, visits.before)}</span>
      </span>
      <span role="cell" className={classes.ratio}>
        {percent(site.hit_ratio)}
      </span>
      <span role="cell" className={classes.renders}>
        <Renders renders={site.renders} />
      </span>
      <span role="cell" className={classes.crawler}>
        <LastCrawler last={site.last_crawler} />
      </span>
      <span role="cell" className={classes.more}>
        <button
          type="button"
          className={classes.moreButton}
          aria-label={`Actions for ${name}`}
          aria-haspopup="menu"
          onClick={(event) => onMenu(site, event.currentTarget)}
        >
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d="M3 8h.01M8 8h.01M13 8h.01" />
          </svg>
        </button>
      </span>
    </div>
  )
})

/** What is not cut is one text, which the browser's search finds. */
function Cut({ text }: { text: string }) {
  if (text.length <= SHORT_CHARS) return text
  return (
    <span className={classes.cut} data-long={text.length > WHOLE_CHARS || undefined}>
      <span className={classes.start}>{text.slice(0, -END_CHARS)}</span>
      <span>{text.slice(-END_CHARS)}</span>
    </span>
  )
}

/** What stands beside the name, or below it; null if there is nothing to say. */
function reasonOf({ state, reasons, way, last_crawler: last }: PortfolioDomain): ReactNode {
  const [worst, ...others] = reasons
  if (worst === undefined) {
    if (state === 'paused') return 'Paused: crawlers get the site itself'
    if (last === null) return 'No crawler yet'
    return way === 'middleware' ? 'By a middleware' : null
  }
  return (
    <>
      <span className={classes.cause} data-state={state} title={reasons.map(whole).join('\n')}>
        {words(worst)}
        {others.length > 0 && ` +${others.length}`}
      </span>
      {worst.acknowledged_by != null && ` · acknowledged by ${worst.acknowledged_by}`}
    </>
  )
}

function whole({ text, acknowledged_by: by }: PortfolioDomain['reasons'][number]): string {
  return by == null ? text : `${text} Acknowledged by ${by}.`
}

/** An incident in a few words; the whole sentence is its title. */
function words({ kind, text }: PortfolioDomain['reasons'][number]): string {
  return kind in KINDS ? capitalised(KINDS[kind as keyof typeof KINDS].words) : text.replace(/\.$/, '')
}

const WIDTH = 96
const HEIGHT = 24
const STEP = 14
const BAR = 10

/** Bars of seven days as one path. */
function Sparkline({ days }: { days: readonly number[] }) {
  const most = Math.max(...days)
  const label = `Visits of the last 7 days: ${days.map(count).join(', ')}`
  if (most === 0) return <span className="quiet" title={label} aria-label={label} role="img" />
  const path = days
    .map((visits, at) => {
      const height = visits === 0 ? 1 : Math.max(2, Math.round((visits / most) * HEIGHT))
      return `M${at * STEP} ${HEIGHT}v${-height}h${BAR}v${height}z`
    })
    .join('')
  return (
    <svg
      className={classes.bars}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <path d={path} />
    </svg>
  )
}

function visitsTitle({ total, before }: PortfolioDomain['visits']): string {
  const changed = differenceToWeekBefore(total, before)
  return `${count(total)} visits in 7 days${changed === '' ? '' : `, ${changed}`}`
}

function Renders({ renders: { used, limit } }: { renders: PortfolioDomain['renders'] }) {
  const part = limit === 0 ? 0 : used / limit
  const label = `${count(used)} of ${count(limit)} renders this month`
  return (
    <span title={label}>
      {percent(Math.round(part * 100) / 100)}
      {part >= NEARLY_USED && (
        <progress
          className={classes.used}
          data-full={part >= 1 || undefined}
          value={Math.min(1, part)}
          aria-label={label}
        />
      )}
    </span>
  )
}

/** Redrawn with the list, every 30 seconds: a clock for each of 1,000 rows would cost more. */
function LastCrawler({ last }: { last: PortfolioDomain['last_crawler'] }) {
  if (last === null) return <span className="quiet">none yet</span>
  return (
    <span title={exactTime(last.at)}>
      {crawlerName(last.name)}, <span className="quiet">{shortAgo(last.at)}</span>
    </span>
  )
}

function shortAgo(iso: string): string {
  return ago(iso)
    .replace(' ago', '')
    .replace(/ minutes?/, ' min')
    .replace(/ hours?/, ' h')
}
