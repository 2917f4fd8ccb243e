import { Anchor, Button, Group, NativeSelect } from '@mantine/core'
import { monthName } from '@prepaint/contract/notifications/monthly-words.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { tagsQuery } from '../../api/portfolio-queries.ts'
import { domainsQuery } from '../../api/queries.ts'
import { monthlyReportQuery } from '../../api/report-queries.ts'
import { useRights } from '../../api/rights.ts'
import type { MadeShareLink, MonthlyReport } from '../../api/types.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { MadeLink, NewShareLink } from '../account/new-share-link.tsx'
import { MonthReport } from './month-report.tsx'
import { firstReportDay, isFirstReportAhead, reportPath } from './report-path.ts'
import classes from './reports.module.css'

/** `month` null: the last whole one. */
export default function Reports({ month }: { month: string | null }) {
  const search = new URLSearchParams(useSearch())
  const tag = search.get('tag')
  const named = search.get('domains')
  const report = useQuery(monthlyReportQuery({ month, tag, domains: named }))
  const weekly = (
    <Anchor component={Link} href={ROUTES.report} className={classes.noPrint}>
      Weekly report
    </Anchor>
  )
  return (
    <div className={classes.screen}>
      <Page
        title="Reports"
        lead="What crawlers did at each site in a month. Months are in UTC."
        actions={weekly}
      >
        <Loaded query={report} rows={8}>
          {(shown) =>
            month === null && isFirstReportAhead(shown) ? (
              <FirstReport report={shown} />
            ) : (
              <>
                <Choices report={shown} tag={tag} named={named} />
                <MonthReport report={shown} />
              </>
            )
          }
        </Loaded>
      </Page>
    </div>
  )
}

function FirstReport({ report }: { report: MonthlyReport }) {
  const [running = report.month] = report.months
  return (
    <div className="sheet">
      <Empty
        title={`The first report is made on ${firstReportDay(report)}`}
        action={
          <Anchor component={Link} href={reportPath(running)}>
            Show {monthName(running)} so far
          </Anchor>
        }
      >
        It tells of the crawlers that visited your sites, and can be sent by e-mail to you and your clients.
      </Empty>
    </div>
  )
}

/** `named`: the sites of the address, if there are any. */
function Choices(props: { report: MonthlyReport; tag: string | null; named: string | null }) {
  const { report, tag, named: ofSites } = props
  const may = useRights()
  const sites = useQuery(domainsQuery).data?.map(({ custom_domain: name }) => name) ?? []
  const tags = useQuery({ ...tagsQuery, enabled: may('listTags') })
  const [, navigate] = useLocation()
  const { month, months } = report
  const named = months.map((each, at) => ({
    value: each,
    label: at === 0 ? `${monthName(each)}, so far` : monthName(each),
  }))
  const names = tags.data?.map(({ name }) => name) ?? []
  return (
    <Group align="end" className={classes.noPrint}>
      <NativeSelect
        label="Month"
        data={months.includes(month) ? named : [{ value: month, label: monthName(month) }, ...named]}
        value={month}
        onChange={(event) => navigate(reportPath(event.currentTarget.value, tag, ofSites))}
      />
      {(names.length > 0 || tag !== null) && (
        <NativeSelect
          label="Tag"
          data={[{ value: '', label: 'All sites' }, ...new Set(tag === null ? names : [tag, ...names])]}
          value={tag ?? ''}
          onChange={(event) => navigate(reportPath(month, event.currentTarget.value || null))}
        />
      )}
      {(sites.length > 1 || ofSites !== null) && (
        <NativeSelect
          label="Site"
          data={[
            { value: '', label: 'All sites' },
            ...new Set(ofSites === null ? sites : [ofSites, ...sites]),
          ]}
          value={ofSites ?? ''}
          onChange={(event) => navigate(reportPath(month, null, event.currentTarget.value || null))}
        />
      )}
      <Button variant="default" onClick={() => window.print()}>
        Print or save as PDF
      </Button>
      {may('createShareLink') && report.domains.length > 0 && <SendReport report={report} tag={tag} />}
    </Group>
  )
}

/** Makes a share link for the sites that are shown, which a client opens without an account. */
function SendReport({ report, tag }: { report: MonthlyReport; tag: string | null }) {
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<MadeShareLink | null>(null)
  const domains = report.domains.map(({ domain }) => domain)
  const name = tag ?? (domains.length === 1 ? domains[0]! : '')
  return (
    <>
      <Button variant="default" onClick={() => setMaking(true)}>
        Send to a client
      </Button>
      {isMaking && (
        <NewShareLink
          first={{ name, domains, parts: ['report'] }}
          onClose={() => setMaking(false)}
          onMade={(link) => {
            setMaking(false)
            setMade(link)
          }}
        />
      )}
      {made !== null && (
        <MadeLink
          made={made}
          mailSubject={`Report of ${monthName(report.month)}`}
          onClose={() => setMade(null)}
        />
      )}
    </>
  )
}
