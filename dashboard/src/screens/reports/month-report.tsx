import { Anchor, Text, Title } from '@mantine/core'
import { type CHANGE_KINDS, monthOf } from '@prepaint/contract/api/reports.ts'
import { differenceWords, monthName, percentWords } from '@prepaint/contract/notifications/monthly-words.ts'
import type { ReactNode } from 'react'
import type { MonthlyReport } from '../../api/types.ts'
import { crawlerName } from '../../crawler-categories.ts'
import { axisName, count, milliseconds } from '../../format.ts'
import { Brand, MadeWith } from '../../shell/brand.tsx'
import { kindTitle } from '../notifications/kind-title.ts'
import { MonthBars } from './month-bars.tsx'
import classes from './reports.module.css'

type Site = MonthlyReport['domains'][number]

const MOST_CRAWLERS = 8
const MOST_PAGES = 8
const MOST_EVENTS = 6
/** With more sites the report begins with a list of them. */
const MOST_WITHOUT_CONTENTS = 5

/** A month as it is read on a screen and on paper. */
export function MonthReport({ report }: { report: MonthlyReport }) {
  const { month, account, domains, summary } = report
  return (
    <article className={classes.report} aria-label={`Report of ${monthName(month)}`}>
      <header className={classes.head}>
        <Brand branding={account.branding} account={account.name} />
        <div>
          <Title order={2} size="h3">
            {monthName(month)}
          </Title>
          <Text className="quiet" size="sm">
            {account.branding.name ?? account.name}
          </Text>
        </div>
      </header>
      <Text>{summary}</Text>
      {domains.length > MOST_WITHOUT_CONTENTS && <Contents report={report} />}
      {domains.map((site) => (
        <SiteOfMonth key={site.domain} site={site} month={month} />
      ))}
      <MadeWith branding={account.branding} />
    </article>
  )
}

/** The sites in their order, with a link to each. */
function Contents({ report: { month, domains } }: { report: MonthlyReport }) {
  return (
    <table className={classes.contents} aria-label="Sites of this report">
      <thead>
        <tr>
          <th scope="col">Site</th>
          <th scope="col">Visits</th>
          <th scope="col">Month before</th>
          <th scope="col">Incidents</th>
        </tr>
      </thead>
      <tbody>
        {domains.map((site) => (
          <tr key={site.domain}>
            <td className="break">
              <Anchor href={`#${placeOf(site)}`} inherit>
                {site.domain}
              </Anchor>
            </td>
            <td>{count(site.visits)}</td>
            <td>{isRunning(month) ? '' : differenceWords(site.visits, site.before)}</td>
            <td>{count(site.incidents.length + site.left_out.incidents)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function placeOf({ domain }: Site): string {
  return `site-${domain}`
}

function isRunning(month: string): boolean {
  return month === monthOf(Date.now())
}

function SiteOfMonth({ site, month }: { site: Site; month: string }) {
  const { visits, before } = site
  const difference = isRunning(month) ? null : differenceWords(visits, before)
  const compared = difference ?? `${count(before)} the month before`
  return (
    <section className={classes.site} id={placeOf(site)} aria-label={site.domain}>
      <Title order={3} size="h4" className="break">
        {site.domain}
      </Title>
      <dl className={classes.figures}>
        <Figure name="Visits of crawlers" value={count(visits)} note={before === 0 ? '' : compared} />
        <Figure name="From the cache" value={percentWords(site.hit_ratio)} note="of the pages" />
        <Figure name="Rendered" value={count(site.rendered)} note="while a crawler waited" />
        <Figure name="Failed" value={count(site.failed)} note="the site had to answer" />
        <Figure name="Response" value={milliseconds(site.response_ms)} note="median" />
      </dl>
      {visits === 0 ? (
        <Text size="sm">
          {isRunning(month)
            ? 'No crawler has visited this site in this month yet.'
            : 'No crawler visited this site in this month.'}
        </Text>
      ) : (
        <MonthBars days={site.days} monthDays={daysOf(month)} />
      )}
      <div className={classes.lists}>
        <List title="Crawlers" rows={crawlerRows(site)} />
        <List title="Pages that crawlers asked for most" rows={pageRows(site)} isPath />
        <List title="Incidents" rows={incidentRows(site)} none="Nothing was wrong." />
        <List title="Changes" rows={changeRows(site)} />
      </div>
    </section>
  )
}

function Figure({ name, value, note }: { name: string; value: string; note: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className={classes.value}>{value}</span>
        {note !== '' && <span className={classes.note}>{note}</span>}
      </dd>
    </div>
  )
}

type Row = { key: string; name: string; value: ReactNode }

/** Leaves out lists without rows, unless `none` says what that means. */
function List(props: { title: string; rows: readonly Row[]; none?: string; isPath?: boolean }) {
  const { title, rows, none, isPath = false } = props
  if (rows.length === 0 && none === undefined) return null
  return (
    <div>
      <Title order={4} size="sm">
        {title}
      </Title>
      {rows.length === 0 ? (
        <Text size="sm">{none}</Text>
      ) : (
        <ul className={classes.rows}>
          {rows.map(({ key, name, value }) => (
            <li key={key}>
              <span className={isPath ? classes.path : undefined}>{name}</span>
              <span className={classes.count}>{value}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function crawlerRows({ by_crawler: crawlers, visits: all }: Site): Row[] {
  const shown = crawlers.slice(0, MOST_CRAWLERS)
  const rows = shown.map(({ crawler, category, visits }) => ({
    key: `${category} ${crawler}`,
    name: crawlerName(crawler),
    value: count(visits),
  }))
  const others = shown.reduce((left, { visits }) => left - visits, all)
  if (others > 0) rows.push({ key: '', name: 'Others', value: count(others) })
  return rows
}

function pageRows({ top_pages: pages }: Site): Row[] {
  return pages
    .slice(0, MOST_PAGES)
    .map(({ path, visits }) => ({ key: path, name: path, value: count(visits) }))
}

function incidentRows({ incidents, left_out: leftOut }: Site): Row[] {
  const rows = incidents.slice(0, MOST_EVENTS).map(({ kind, since, resolved_at: ended }) => ({
    key: `${kind} ${since}`,
    name: kindTitle(kind),
    value: ended === null ? `since ${axisName(since, 'day')}` : `${axisName(since, 'day')}, ended`,
  }))
  return withMore(rows, incidents.length + leftOut.incidents)
}

const CHANGES: Record<(typeof CHANGE_KINDS)[number], string> = {
  added: 'Site added',
  live: 'First request',
  deploy: 'New version of the site',
  settings: 'Settings',
  rules: 'Rules',
  redirects: 'Redirects',
  robots: 'robots.txt',
  certificate: 'Certificate',
}

function changeRows({ changes }: Site): Row[] {
  const rows = changes
    .slice(0, MOST_EVENTS)
    .map(({ what, at }) => ({ key: `${what} ${at}`, name: CHANGES[what], value: axisName(at, 'day') }))
  return withMore(rows, changes.length)
}

function withMore(rows: Row[], all: number): Row[] {
  const more = all - rows.length
  return more > 0 ? [...rows, { key: '', name: `and ${count(more)} more`, value: '' }] : rows
}

function daysOf(month: string): number {
  const [year, number] = month.split('-').map(Number) as [number, number]
  return new Date(Date.UTC(year, number, 0)).getUTCDate()
}
