import { useState } from 'react'

import type { Range } from '../../api/traffic-queries.ts'
import type { Traffic } from '../../api/types.ts'
import { Chart } from '../../charts/chart.tsx'
import { compact, count, milliseconds, percent } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Section } from '../../parts/page.tsx'
import {
  byCategory,
  byCrawler,
  byDevice,
  byForm,
  byVerdict,
  hitRatioOf,
  peopleOf,
  timesOf,
} from './series.ts'
import classes from './traffic.module.css'

export function TrafficTiles({ traffic: { totals } }: { traffic: Traffic }) {
  const failedShare = percent(totals.pages === 0 ? null : totals.failed / totals.pages)
  const tiles = [
    ['Crawler visits', count(totals.visits), visitsNote(totals)],
    ['Hit ratio', percent(totals.hit_ratio), `${count(totals.stale)} of them stale`],
    ['Response time', milliseconds(totals.p50_ms), `median; 95th percentile ${milliseconds(totals.p95_ms)}`],
    ['Failed', count(totals.failed), `${failedShare} of page visits got the origin instead`],
    ['People and tools', count(totals.people), 'got the origin, unchanged'],
  ] as const
  return (
    <dl className={`sheet sheet-flush ${classes.tiles}`}>
      {tiles.map(([name, value, note]) => (
        <div key={name} className={classes.tile}>
          <dt>{name}</dt>
          <dd>
            {value}
            <span className={classes.note}>{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Visits for pages that do not exist count neither as failed nor against the hit ratio. */
function visitsNote({ pages, soft_404: missing }: Traffic['totals']): string {
  if (missing === 0) return `${count(pages)} for pages`
  return `${count(pages)} for pages, ${count(missing)} for missing ones`
}

export function TrafficCharts({ traffic, range }: { traffic: Traffic; range: Range }) {
  const axis = { times: traffic.times, step: range.step }
  const visits = { ...axis, format: count, formatShort: compact }
  return (
    <>
      <CrawlerVisits traffic={traffic} range={range} />
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
            series={hitRatioOf(traffic)}
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
            series={timesOf(traffic)}
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

function CrawlerVisits({ traffic, range }: { traffic: Traffic; range: Range }) {
  const [name, setName] = useState<(typeof GROUPINGS)[number]['name']>('category')
  const grouping = GROUPINGS.find((candidate) => candidate.name === name)!
  return (
    <Section
      title="Crawler visits"
      lead={
        range.step === 'day'
          ? 'By day (UTC). Today is not complete yet.'
          : 'By hour, in your time zone. The last hour is not complete yet.'
      }
      actions={<Choice label="Crawler visits by" options={GROUPINGS} chosen={name} onChoose={setName} />}
    >
      <Chart
        label={`Crawler visits by ${name}`}
        kind="layers"
        times={traffic.times}
        step={range.step}
        series={grouping.series(traffic)}
        format={count}
        formatShort={compact}
      />
    </Section>
  )
}

export function Choice<Name extends string>(props: {
  label: string
  options: readonly { name: Name; label: string }[]
  chosen: Name
  onChoose: (name: Name) => void
}) {
  return (
    <fieldset className={classes.choice}>
      <legend>{props.label}</legend>
      {props.options.map(({ name, label }) => (
        <label key={name}>
          <input
            type="radio"
            name={props.label}
            checked={name === props.chosen}
            onChange={() => props.onChoose(name)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  )
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
