import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'

import { completePagesQuery, rendersQuery } from '../../api/queries.ts'
import type { DomainWithSettings, Render } from '../../api/types.ts'
import { bytes, count, counted, percent } from '../../format.ts'
import { OutcomeBadge } from '../../parts/badges.tsx'
import { DataTable } from '../../parts/data-table.tsx'
import { Facts, Note } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { pagePath } from '../../route-map.ts'
import classes from './renders.module.css'

export default function DomainRenders({ domain }: { domain: DomainWithSettings }) {
  const renders = useQuery(rendersQuery(domain.custom_domain))
  return (
    <Loaded query={renders} rows={6}>
      {(list) => (
        <Stack>
          <Note size="sm">
            The last 50 renders, newest first. Records are kept for a week, up to 20 per page.
          </Note>
          <CompleteShare domain={domain.custom_domain} />
          <div className="sheet sheet-flush">
            {list.length === 0 ? (
              <Empty title="No renders in the last week">
                Renders are listed here, each with a record of what happened. A page is rendered when a
                crawler requests it and it is not cached, and when you refresh it.
              </Empty>
            ) : (
              <RenderTable domain={domain.custom_domain} renders={list} />
            )}
          </div>
        </Stack>
      )}
    </Loaded>
  )
}

function CompleteShare({ domain }: { domain: string }) {
  const { data } = useQuery(completePagesQuery(domain))
  if (data === undefined || data.complete === 0) return null
  const { stored, complete, folders } = data
  const where = folders.length === 0 ? 'such pages' : folders.join(', ')
  return (
    <Note size="sm">
      {percent(complete / stored)} of {counted(stored, 'page')} came complete from your origin and needed no
      browser. A rule with the action “pass” for {where} leaves them to the origin, without using renders.
    </Note>
  )
}

const idOf = ({ jobId, ended_at }: Render) => `${jobId} ${ended_at}`

function RenderTable({ domain, renders }: { domain: string; renders: readonly Render[] }) {
  const [open, setOpen] = useState<string | null>(null)
  return (
    <DataTable
      look="lines"
      rows={renders}
      keyOf={idOf}
      detail={(render) => idOf(render) === open && <RenderRecord render={render} />}
      columns={[
        {
          title: 'Path',
          className: 'break',
          cell: ({ path }) => (
            <Anchor component={Link} href={pagePath(domain, path)} size="sm">
              {path}
            </Anchor>
          ),
        },
        { title: 'Outcome', cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
        { title: 'Time', cell: ({ ended_at }) => <TimeText at={ended_at} /> },
        {
          title: 'Duration',
          className: 'number',
          kind: 'labelled',
          cell: ({ stored_ms }) => `${count(stored_ms)} ms`,
        },
        {
          title: 'Actions',
          kind: 'action',
          cell: (render) => {
            const isOpen = idOf(render) === open
            return (
              <Button
                size="compact-xs"
                variant="subtle"
                aria-expanded={isOpen}
                aria-label={`${isOpen ? 'Hide' : 'Show'} record of ${render.path}`}
                onClick={() => setOpen(isOpen ? null : idOf(render))}
              >
                {isOpen ? 'Hide' : 'Show'} record
              </Button>
            )
          },
        },
      ]}
    />
  )
}

const CAPTURES: Record<string, string> = {
  'ready-signal': 'when the page reported that it was ready',
  budget: 'when its timers had run',
  idle: 'when no request or script was running',
  cap: 'when the time limit was reached',
  deadline: 'shortly before the crawler stopped waiting',
}

const PHASES = [
  ['slot', 'Waiting for a slot'],
  ['tab', 'Opening a clean tab'],
  ['navigate', 'Requesting the page'],
  ['firstResponse', 'Waiting for the response'],
  ['settled', 'Scripts and requests'],
  ['snapshot', 'Snapshot'],
] as const satisfies readonly (readonly [keyof Render['record']['phases'], string])[]

export function RenderRecord({ render }: { render: Render }) {
  const { requests, consoleErrors, capture, htmlBytes, troubles } = render.record
  const ahead = requests.preloaded ? ` (${count(requests.preloaded)} sent ahead of the page)` : ''
  return (
    <Stack gap="sm" py="xs">
      <Facts
        rows={[
          ...(render.detail === null ? [] : ([['Reason', render.detail]] as const)),
          ['Captured', capture === null ? 'no' : (CAPTURES[capture] ?? capture)],
          [
            'Requests',
            `${count(requests.made)} sent${ahead}, ${count(requests.spared)} images skipped, ${count(requests.blocked)} blocked, ${count(requests.failed)} failed${requests.missing ? `, ${count(requests.missing)} without an answer` : ''}`,
          ],
          ...(htmlBytes === null ? [] : ([['Size', bytes(htmlBytes)]] as const)),
        ]}
      />
      <Timeline render={render} />
      {troubles.length > 0 && (
        <div>
          <Text size="sm" fw={500}>
            Blocked, failed and unanswered requests
          </Text>
          <pre className="code-block">
            {troubles.map(({ kind, url, reason }) => `${kind}: ${url} (${reason})`).join('\n')}
          </pre>
        </div>
      )}
      {consoleErrors.count > 0 && (
        <div>
          <Text size="sm" fw={500}>
            Console errors: {count(consoleErrors.count)}
          </Text>
          <pre className="code-block">{consoleErrors.texts.join('\n')}</pre>
        </div>
      )}
    </Stack>
  )
}

function Timeline({ render }: { render: Render }) {
  const stretches = [{ name: 'In the queue', start: 0, end: render.queued_ms }]
  let start = render.queued_ms
  for (const [phase, name] of PHASES) {
    const reached = render.record.phases[phase]
    if (reached === null) continue
    const end = Math.max(start, render.queued_ms + reached)
    stretches.push({ name, start, end })
    start = end
  }
  const whole = Math.max(1, start)
  return (
    <ol className={classes.timeline} aria-label="Phases of the render">
      {stretches.map(({ name, start: from, end }) => (
        <li key={name} className={classes.phase}>
          <span className={classes.name}>{name}</span>
          <span className={classes.track} aria-hidden>
            <span
              className={classes.bar}
              style={{ marginLeft: `${(from / whole) * 100}%`, width: `${((end - from) / whole) * 100}%` }}
            />
          </span>
          <span className={classes.ms}>{count(end - from)} ms</span>
        </li>
      ))}
    </ol>
  )
}
