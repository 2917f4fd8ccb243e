import { Anchor, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { JOB_OUTCOMES } from '@prepaint/contract/outcome/job.ts'
import { detailWords } from '@prepaint/contract/outcome/words.ts'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link, useSearchParams } from 'wouter'

import { completePagesQuery, type RenderListFilter, renderListQuery } from '../../api/queries.ts'
import type { DomainWithSettings, Render } from '../../api/types.ts'
import { bytes, capitalised, count, counted, milliseconds, percent } from '../../format.ts'
import { eitherOutcome, FAILED_OUTCOMES, OutcomeBadge, shortOutcome } from '../../parts/badges.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { type FactRow, Facts, Note } from '../../parts/page.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { Empty, Loaded, NothingFound } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { pagePath } from '../../route-map.ts'
import classes from './renders.module.css'

export default function DomainRenders({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [filter, change] = useRenderFilter()
  const renders = useInfiniteQuery(renderListQuery(name, filter))
  const list = renders.data?.pages.flatMap((part) => part.renders)
  return (
    <Stack>
      <Note size="sm">Newest first. Records are kept for a week, up to 20 per page.</Note>
      <CompleteShare domain={name} />
      <Filters filter={filter} change={change} />
      <Loaded query={{ data: list, error: renders.error, refetch: renders.refetch }} rows={6}>
        {(shown) => (
          <div className="sheet sheet-flush">
            {shown.length === 0 ? (
              <NoRenders filter={filter} change={change} />
            ) : (
              <RenderTable domain={name} renders={shown} />
            )}
          </div>
        )}
      </Loaded>
      <ShowMore list={renders}>Show older renders</ShowMore>
    </Stack>
  )
}

/** Those of a link of another version may be none: the list is then shown without them. */
function knownOutcomes(list: string): string {
  return list
    .split(',')
    .filter((outcome) => (JOB_OUTCOMES as readonly string[]).includes(outcome))
    .join()
}

const NO_FILTER: RenderListFilter = { outcome: '', path: '', priority: '', hours: '' }

type Change = (changed: Partial<RenderListFilter>) => void

/** The filter in the address. Changes make no entry in the browser's history. */
function useRenderFilter(): [RenderListFilter, Change] {
  const [params, setParams] = useSearchParams()
  const filter: RenderListFilter = {
    outcome: knownOutcomes(params.get('outcome') ?? ''),
    path: params.get('path') ?? '',
    priority: params.get('priority') ?? '',
    hours: params.get('hours') ?? '',
  }
  const change: Change = (changed) => {
    const query = Object.entries({ ...filter, ...changed }).filter(([, value]) => value !== '')
    setParams(new URLSearchParams(query), { replace: true })
  }
  return [filter, change]
}

const OUTCOMES = [
  { value: '', label: 'All outcomes' },
  { value: FAILED_OUTCOMES.join(), label: 'Failed' },
  ...JOB_OUTCOMES.filter((outcome) => outcome !== 'probed' && outcome !== 'tried').map((outcome) => ({
    value: outcome,
    label: capitalised(shortOutcome(outcome)),
  })),
]

const PRIORITY_NAMES = [
  { value: '', label: 'All reasons' },
  { value: 'live', label: 'A crawler waited' },
  { value: 'refresh', label: 'Refresh' },
  { value: 'warm', label: 'Warm' },
]

const SPANS = [
  { value: '', label: 'Last 7 days' },
  { value: '24', label: 'Last 24 hours' },
  { value: '1', label: 'Last hour' },
]

const TYPING_MS = 250

function Filters({ filter, change }: { filter: RenderListFilter; change: Change }) {
  const [path, setPath] = useState(filter.path)
  const later = useDebouncedCallback((text: string) => change({ path: text.trim() }), TYPING_MS)
  // Cleared from elsewhere.
  useEffect(() => {
    if (filter.path === '') setPath('')
  }, [filter.path])
  const isKnown = OUTCOMES.some(({ value }) => value === filter.outcome)
  // Several outcomes may come in a link.
  const outcomes = isKnown
    ? OUTCOMES
    : [...OUTCOMES, { value: filter.outcome, label: eitherOutcome(filter.outcome) }]
  return (
    <Group gap="sm" role="search">
      <TextInput
        type="search"
        aria-label="Part of the path"
        placeholder="Path"
        autoComplete="off"
        spellCheck={false}
        flex="2 1 9rem"
        value={path}
        onChange={(event) => {
          setPath(event.currentTarget.value)
          later(event.currentTarget.value)
        }}
      />
      <NativeSelect
        aria-label="Outcome"
        flex="1 1 8rem"
        data={outcomes}
        value={filter.outcome}
        onChange={(event) => change({ outcome: event.currentTarget.value })}
      />
      <NativeSelect
        aria-label="Reason"
        flex="1 1 8rem"
        data={PRIORITY_NAMES}
        value={filter.priority}
        onChange={(event) => change({ priority: event.currentTarget.value })}
      />
      <NativeSelect
        aria-label="Time"
        flex="1 1 8rem"
        data={SPANS}
        value={filter.hours}
        onChange={(event) => change({ hours: event.currentTarget.value })}
      />
    </Group>
  )
}

function NoRenders({ filter, change }: { filter: RenderListFilter; change: Change }) {
  if (Object.values(filter).some((value) => value !== '')) {
    return (
      <NothingFound
        title={`No render ${filterWords(filter)}`}
        all="Show all renders"
        onClear={() => change(NO_FILTER)}
      >
        Records are kept for a week.
      </NothingFound>
    )
  }
  return (
    <Empty title="No renders in the last week">
      Renders are listed here, each with a record of what happened. A page is rendered when a crawler requests
      it and it is not cached, and when you refresh it.
    </Empty>
  )
}

/** Names the filters that are set: `with the outcome “not ready in time”, for the reason “Warm”`. */
function filterWords({ outcome, path, priority, hours }: RenderListFilter): string {
  const labelOf = (options: readonly { value: string; label: string }[], value: string) =>
    options.find((option) => option.value === value)?.label ?? value
  const words: string[] = []
  if (outcome === FAILED_OUTCOMES.join()) words.push('that failed')
  else if (outcome !== '') words.push(`with the outcome “${eitherOutcome(outcome)}”`)
  if (path !== '') words.push(`of a path with “${path}”`)
  if (priority !== '') words.push(`for the reason “${labelOf(PRIORITY_NAMES, priority)}”`)
  if (hours !== '') words.push(`in the ${labelOf(SPANS, hours).toLowerCase()}`)
  return words.join(', ')
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

/** One job can end more than once: it is tried again after a crash. */
const idOf = ({ jobId, ended_at }: Render) => `${jobId} ${ended_at}`

function RenderTable({ domain, renders }: { domain: string; renders: readonly Render[] }) {
  const [openId, setOpenId] = useState<string | null>(null)
  const columns: Column<Render>[] = [
    {
      title: 'Path',
      className: 'break',
      cell: ({ path }) => (
        <Anchor component={Link} href={pagePath(domain, path)} size="sm">
          {path}
        </Anchor>
      ),
    },
    {
      title: 'Outcome',
      cell: ({ outcome, detail }) => (
        <>
          <OutcomeBadge outcome={outcome} />
          {detailWords(outcome, detail) !== '' && <Note className="break">{detail}</Note>}
        </>
      ),
    },
    { title: 'Time', cell: ({ ended_at: at }) => <TimeText at={at} /> },
    {
      title: 'Duration',
      className: 'number',
      kind: 'labelled',
      cell: ({ stored_ms: ms }) => milliseconds(ms),
    },
    {
      title: 'Actions',
      kind: 'action',
      cell: (render) => {
        const isOpen = idOf(render) === openId
        const toggle = () => setOpenId(isOpen ? null : idOf(render))
        return <RecordButton path={render.path} isOpen={isOpen} onClick={toggle} />
      },
    },
  ]
  return (
    <DataTable
      look="lines"
      rows={renders}
      keyOf={idOf}
      detail={(render) => idOf(render) === openId && <RenderRecord render={render} />}
      columns={columns}
    />
  )
}

function RecordButton({ path, isOpen, onClick }: { path: string; isOpen: boolean; onClick: () => void }) {
  const verb = isOpen ? 'Hide' : 'Show'
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      aria-expanded={isOpen}
      aria-label={`${verb} record of ${path}`}
      onClick={onClick}
    >
      {verb} record
    </Button>
  )
}

/** When the page was captured. */
const CAPTURES: Record<string, string> = {
  'ready-signal': 'the page reported that it was ready',
  budget: 'all timers had run',
  idle: 'no request or script was running',
  cap: 'the time limit was reached',
  deadline: 'almost all of the time that the crawler waits',
}

function captureText(capture: string | null): string {
  if (capture === null) return 'not captured'
  return CAPTURES[capture] ?? capture
}

function requestsText({ requests }: Render['record']): string {
  const { made, preloaded, spared, blocked, failed, missing } = requests
  const ahead = preloaded ? ` (${count(preloaded)} sent ahead of the page)` : ''
  const parts = [
    `${count(made)} sent${ahead}`,
    `${count(spared)} images skipped`,
    `${count(blocked)} blocked`,
    `${count(failed)} failed`,
  ]
  if (missing) parts.push(`${count(missing)} without an answer`)
  return parts.join(', ')
}

function recordFacts({ detail, record }: Render): FactRow[] {
  const facts: FactRow[] = []
  if (detail !== null) facts.push(['Reason', detail])
  facts.push(['Captured after', captureText(record.capture)])
  facts.push(['Requests', requestsText(record)])
  if (record.htmlBytes !== null) facts.push(['Size', bytes(record.htmlBytes)])
  return facts
}

/** What happened during one render. */
export function RenderRecord({ render }: { render: Render }) {
  const { consoleErrors, troubles } = render.record
  return (
    <Stack gap="sm" py="xs">
      <Facts rows={recordFacts(render)} />
      <Timeline render={render} />
      {troubles.length > 0 && (
        <RecordText
          title="Blocked, failed and unanswered requests"
          lines={troubles.map(({ kind, url, reason }) => `${kind}: ${url} (${reason})`)}
        />
      )}
      {consoleErrors.count > 0 && (
        <RecordText title={`Console errors: ${count(consoleErrors.count)}`} lines={consoleErrors.texts} />
      )}
    </Stack>
  )
}

function RecordText({ title, lines }: { title: string; lines: readonly string[] }) {
  return (
    <div>
      <Text size="sm" fw={500}>
        {title}
      </Text>
      <pre className="code-block">{lines.join('\n')}</pre>
    </div>
  )
}

/** The phases of a render in order, and the moment at which each ends. */
const PHASES = [
  ['slot', 'Waiting for a slot'],
  ['tab', 'Opening a clean tab'],
  ['navigate', 'Requesting the page'],
  ['firstResponse', 'Waiting for the response'],
  ['settled', 'Scripts and requests'],
  ['snapshot', 'Snapshot'],
] as const satisfies readonly (readonly [keyof Render['record']['phases'], string])[]

type Phase = { name: string; startMs: number; endMs: number }

/** Phases that the render did not reach are left out. */
function phasesOf({ queued_ms: queuedMs, record }: Render): Phase[] {
  const phases: Phase[] = [{ name: 'In the queue', startMs: 0, endMs: queuedMs }]
  let startMs = queuedMs
  for (const [phase, name] of PHASES) {
    const reachedMs = record.phases[phase]
    if (reachedMs === null) continue
    const endMs = Math.max(startMs, queuedMs + reachedMs)
    phases.push({ name, startMs, endMs })
    startMs = endMs
  }
  return phases
}

function Timeline({ render }: { render: Render }) {
  const phases = phasesOf(render)
  const wholeMs = Math.max(1, phases.at(-1)?.endMs ?? 0)
  const share = (ms: number) => `${(ms / wholeMs) * 100}%`
  return (
    <ol className={classes.timeline} aria-label="Phases of the render">
      {phases.map(({ name, startMs, endMs }) => (
        <li key={name} className={classes.phase}>
          <span className={classes.name}>{name}</span>
          <span className={classes.track} aria-hidden>
            <span
              className={classes.bar}
              style={{ marginLeft: share(startMs), width: share(endMs - startMs) }}
            />
          </span>
          <span className={classes.ms}>{milliseconds(endMs - startMs)}</span>
        </li>
      ))}
    </ol>
  )
}
