import { useState } from 'react'

import { Link } from 'wouter'
import { type Period, stepOf } from '../../api/traffic-queries.ts'
import type { Traffic } from '../../api/types.ts'
import { Chart } from '../../charts/chart.tsx'
import {
  compact,
  count,
  counted,
  difference,
  hourName,
  milliseconds,
  percent,
  type Step,
  stepName,
} from '../../format.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Section } from '../../parts/page.tsx'
import { type Tile, Tiles } from '../../parts/tiles.tsx'
import {
  byCategory,
  byCrawler,
  byDevice,
  byForm,
  byVerdict,
  hitRatioOf,
  peopleOf,
  ratioBefore,
  timeBefore,
  timesOf,
  visitsBefore,
} from './series.ts'
import classes from './traffic.module.css'

/** From this share of page visits on, the figure of failed ones is red. */
const MANY_FAILED = 0.05

/** `before`: the figures of the period before, or null where there were no visits. */
export function TrafficTiles(props: {
  traffic: Traffic
  before: Traffic['totals'] | null
  /** Where the failed renders of the period are listed, if the reader may see them. */
  failedHref?: string | undefined
}) {
  const { totals } = props.traffic
  const { before, failedHref } = props
  const failedShare = totals.pages === 0 ? null : totals.failed / totals.pages
  const more = (figure: 'visits' | 'failed' | 'people') => difference(totals[figure], before?.[figure] ?? 0)
  const failed = (
    <>
      {percent(failedShare)} of page visits got the origin instead
      {failedHref !== undefined && totals.failed > 0 && (
        <>
          {' · '}
          <Link href={failedHref} className={classes.noteLink}>
            failed renders
          </Link>
        </>
      )}
    </>
  )
  const tiles: Tile[] = [
    {
      name: 'Crawler visits',
      value: count(totals.visits),
      change: more('visits'),
      note: visitsNote(totals),
    },
    {
      name: 'Hit ratio',
      value: percent(totals.hit_ratio),
      change: pointsMore(totals.hit_ratio, before?.hit_ratio ?? null),
      note: `${counted(totals.stale, 'hit was', 'hits were')} stale`,
    },
    {
      name: 'Response time',
      value: milliseconds(totals.p50_ms),
      change: slower(totals.p50_ms, before?.p50_ms ?? null),
      note: `median; 95th percentile ${milliseconds(totals.p95_ms)}`,
    },
    {
      name: 'Failed',
      value: count(totals.failed),
      change: more('failed'),
      note: failed,
      isTrouble: (failedShare ?? 0) >= MANY_FAILED,
    },
    {
      name: 'People and tools',
      value: count(totals.people),
      change: more('people'),
      note: 'got the origin, unchanged',
    },
  ]
  return <Tiles tiles={tiles} />
}

/** Writes `12 % slower`; empty where one of them is unknown. */
function slower(now: number | null, before: number | null): string {
  if (now === null || before === null) return ''
  return difference(now, before)
    .replace('as many', 'the same')
    .replace('more', 'slower')
    .replace('less', 'faster')
}

/** Writes `2.1 points more`; empty where one of them is unknown. */
function pointsMore(now: number | null, before: number | null): string {
  if (now === null || before === null) return ''
  const points = Math.round((now - before) * 1_000) / 10
  if (points === 0) return 'the same'
  return points > 0 ? `${points} points more` : `${-points} points less`
}

/** Visits for pages that do not exist count neither as failed nor against the hit ratio. */
function visitsNote({ pages, soft_404: missing }: Traffic['totals']): string {
  if (missing === 0) return `${count(pages)} for pages`
  return `${count(pages)} for pages, ${count(missing)} for missing ones`
}

type ChartsProps = {
  traffic: Traffic
  before: Traffic | null
  period: Period
  /** The traffic begins with the first visit of all. */
  isNew?: boolean
  /** Limits the screen to the day of a step. */
  onPick?: ((time: string) => void) | undefined
}

export function TrafficCharts({ traffic, before, period, isNew, onPick }: ChartsProps) {
  const axis = { times: traffic.times, step: stepOf(period), onPick }
  const visits = { ...axis, format: count, formatShort: compact }
  return (
    <>
      <CrawlerVisits traffic={traffic} before={before} period={period} isNew={isNew} onPick={onPick} />
      <div className={classes.pair}>
        <Section
          title="Answers to crawlers"
          lead="How crawlers were answered. Hit, stale and rendered are rendered pages. Failed: the crawler got the origin instead of a rendered page. Not found: the page does not exist, although the site answers 200."
        >
          <Chart {...visits} label="Answers to crawlers" kind="bars" series={byVerdict(traffic)} />
          <AllAnswers traffic={traffic} />
        </Section>
        <Section
          title="Hit ratio"
          lead="The share of page visits answered from the cache. Assets and requests passed by a rule are not counted."
        >
          <Chart
            {...axis}
            label="Hit ratio"
            kind="lines"
            series={[...hitRatioOf(traffic), ...ratioBefore(traffic, before)]}
            format={percent}
            most={1}
          />
        </Section>
        <Section
          title="Response times"
          lead="Of page visits, within 20%. For hits the time of the node, for all others until the response was sent."
        >
          <Chart
            {...axis}
            label="Response times"
            kind="log"
            series={[...timesOf(traffic), ...timeBefore(traffic, before)]}
            format={milliseconds}
          />
        </Section>
        <Section title="People and tools" lead="They get the origin, unchanged, and are only counted.">
          <Chart {...visits} label="Visits of people and tools" kind="bars" series={peopleOf(traffic)} />
        </Section>
      </div>
    </>
  )
}

/** Form and device are those of the pages that Prepaint served. */
const GROUPINGS = [
  { name: 'category', label: 'By category', series: byCategory },
  { name: 'crawler', label: 'By crawler', series: byCrawler },
  { name: 'form', label: 'By form', series: byForm },
  { name: 'device', label: 'By device', series: byDevice },
] as const

function CrawlerVisits({ traffic, before, period, isNew = false, onPick }: ChartsProps) {
  const [name, setName] = useState<(typeof GROUPINGS)[number]['name']>('category')
  const grouping = GROUPINGS.find((candidate) => candidate.name === name)!
  const step = stepOf(period)
  return (
    <Section
      title="Crawler visits"
      lead={`${isNew ? `${sinceText(traffic.times[0], step)} ` : ''}${visitsLead(period, before !== null)}`}
      actions={<Choice label="Crawler visits by" options={GROUPINGS} chosen={name} onChoose={setName} />}
    >
      <Chart
        label={`Crawler visits by ${name}`}
        kind="bars"
        times={traffic.times}
        step={step}
        series={[...grouping.series(traffic), ...visitsBefore(traffic, before)]}
        format={count}
        formatShort={compact}
        onPick={onPick}
      />
    </Section>
  )
}

/** Writes `Since 14:00.` for today's hours, in the viewer's time zone. */
function sinceText(first: string | undefined, step: Step): string {
  if (first === undefined) return ''
  const isToday = new Date(first).toDateString() === new Date().toDateString()
  return `Since ${step === 'hour' && isToday ? hourName(first) : stepName(first, step)}.`
}

function visitsLead({ range, day }: Period, hasBefore: boolean): string {
  const steps = range.step === 'day' && day === null ? 'By day (UTC).' : 'By hour, in your time zone.'
  const last = range.step === 'day' ? 'Today is not complete yet.' : 'The last hour is not complete yet.'
  const dashed = `Dashed: ${day === null ? `the ${range.label}` : 'the day'} before.`
  return [steps, day === null ? last : '', hasBefore ? dashed : ''].filter((text) => text !== '').join(' ')
}

function AllAnswers({ traffic: { verdicts, totals } }: { traffic: Traffic }) {
  return (
    <details className={classes.verdicts}>
      <summary>All answers with reasons</summary>
      <DataTable
        look="compact"
        rows={verdicts}
        keyOf={({ name }) => name}
        columns={[
          { title: 'X-Prepaint', cell: ({ name }) => name },
          { title: 'Visits', kind: 'number', cell: ({ total }) => count(total) },
          { title: 'Share', kind: 'number', cell: ({ total }) => percent(total / totals.visits) },
          { title: 'Median', kind: 'number', cell: ({ p50_ms }) => milliseconds(p50_ms) },
          { title: '95th percentile', kind: 'number', cell: ({ p95_ms }) => milliseconds(p95_ms) },
        ]}
      />
    </details>
  )
}
