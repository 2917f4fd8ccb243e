import { Table } from '@mantine/core'
import { useState } from 'react'
import type { Range } from '../../api/traffic-range.ts'
import type { Traffic } from '../../api/types.ts'
import { Chart } from '../../charts/chart.tsx'
import { duration, percent, short } from '../../format.ts'
import { Section } from '../../parts/page.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { Choice } from './choice.tsx'
import { byCategory, byCrawler, byVerdict, hitRatioOf, peopleOf, timesOf } from './series.ts'
import classes from './traffic.module.css'

/** What a range comes to, in a row of figures. */
export function TrafficTiles({ traffic: { totals } }: { traffic: Traffic }) {
  const share = (part: number) => percent(totals.pages === 0 ? null : part / totals.pages)
  return (
    <dl className={`sheet sheet-flush ${classes.tiles}`}>
      <Tile name="Crawler visits" value={count(totals.visits)} note={`${count(totals.pages)} for pages`} />
      <Tile
        name="Hit ratio"
        value={percent(totals.hit_ratio)}
        note={`${count(totals.stale)} of them stale`}
      />
      <Tile
        name="Answered within"
        value={duration(totals.p50_ms)}
        note={`half of them; 95% within ${duration(totals.p95_ms)}`}
      />
      <Tile
        name="Failed"
        value={count(totals.failed)}
        note={`${share(totals.failed)} of pages went to the origin`}
      />
      <Tile name="People and tools" value={count(totals.people)} note="got the origin, as always" />
    </dl>
  )
}

function Tile({ name, value, note }: { name: string; value: string; note: string }) {
  return (
    <div className={classes.tile}>
      <dt>{name}</dt>
      <dd>
        {value}
        <span className={classes.note}>{note}</span>
      </dd>
    </div>
  )
}

type Grouping = 'category' | 'crawler'

/** All charts of a range, of one domain or of all of an account. */
export function TrafficCharts({ traffic, range }: { traffic: Traffic; range: Range }) {
  const [grouping, setGrouping] = useState<Grouping>('category')
  const axis = { times: traffic.times, step: range.step }
  const visits = { ...axis, format: count, formatShort: short }
  return (
    <>
      <Section
        title="Crawler visits"
        lead={
          range.step === 'day'
            ? 'By day, in UTC; today is still under way.'
            : 'By hour, in your time zone; the last one is still under way.'
        }
        actions={
          <Choice
            label="Crawler visits by"
            options={[
              { name: 'category', label: 'By category' },
              { name: 'crawler', label: 'By crawler' },
            ]}
            chosen={grouping}
            onChoose={setGrouping}
          />
        }
      >
        <Chart
          {...visits}
          label={`Crawler visits by ${grouping}`}
          kind="layers"
          series={grouping === 'category' ? byCategory(traffic) : byCrawler(traffic)}
        />
      </Section>
      <div className={classes.pair}>
        <Section
          title="How they were answered"
          lead="Hit, stale and rendered are finished pages. Failed went to the origin although there was to be one."
        >
          <Chart {...visits} label="Verdicts" kind="bars" series={byVerdict(traffic)} />
          <EveryVerdict traffic={traffic} />
        </Section>
        <Section
          title="Hit ratio"
          lead="Requests for pages that were answered from the cache at once. Assets and what rules let pass are no pages."
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
          lead="Of pages: hits by our own work, all else until the answer had gone out. Right to within a fifth."
        >
          <Chart {...axis} label="Response times" kind="log" series={timesOf(traffic)} format={duration} />
        </Section>
        <Section title="People and tools" lead="They pass to the origin, untouched, and are only counted.">
          <Chart {...visits} label="Visits of people and tools" kind="bars" series={peopleOf(traffic)} />
        </Section>
      </div>
    </>
  )
}

/** The words of X-Prepaint, with the reason of each pass. */
function EveryVerdict({ traffic: { verdicts, totals } }: { traffic: Traffic }) {
  return (
    <details className={classes.verdicts}>
      <summary>Every verdict, with its reason</summary>
      <div className="scroll-x">
        <Table fz="xs" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>X-Prepaint</Table.Th>
              <Table.Th className="end">Visits</Table.Th>
              <Table.Th className="end">Share</Table.Th>
              <Table.Th className="end">Half within</Table.Th>
              <Table.Th className="end">95% within</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {verdicts.map(({ name, total, p50_ms, p95_ms }) => (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td className="end number">{count(total)}</Table.Td>
                <Table.Td className="end number">{percent(total / totals.visits)}</Table.Td>
                <Table.Td className="end number">{duration(p50_ms)}</Table.Td>
                <Table.Td className="end number">{duration(p95_ms)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </details>
  )
}
