import { Anchor, Button, Group, List, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { type IncidentKind, isTroubleKind, NOTE_LIMIT_CHARS } from '@prepaint/contract/notifications/kinds.ts'
import { detailWords, outcomeWords } from '@prepaint/contract/outcome/words.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import type { Incident } from '../../api/types.ts'
import { duration } from '../../format.ts'
import { FAILED_OUTCOMES } from '../../parts/badges.tsx'
import { FormDialog } from '../../parts/dialog.tsx'
import { May } from '../../parts/may.tsx'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note } from '../../parts/page.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { domainPath, filteredPagesPath, pagePath, rendersPath } from '../../route-map.ts'
import { type SiteState, StateShape } from '../sites/state-shape.tsx'
import classes from './incidents.module.css'
import { kindTitle } from './kind-title.ts'

export function severityOf({ state, kind, evidence }: Incident): SiteState {
  if (state !== 'open') return 'ok'
  return isTroubleKind(kind, evidence.level) ? 'trouble' : 'warning'
}

/** Shape and kind, domain, time, cause, what changed before, examples, what to do, and who takes care of it. */
export function IncidentCard({ incident }: { incident: Incident }) {
  const { domain, kind, state, summary, evidence, since } = incident
  const severity = severityOf(incident)
  const changes = changesBefore(evidence.changes, since)
  return (
    <article
      className={`sheet ${classes.card}`}
      data-severity={severity}
      aria-label={`${domain}: ${kindTitle(kind)}`}
    >
      <Stack gap="sm">
        <Group gap="xs" align="center" wrap="nowrap">
          <StateShape state={severity} />
          <h2 className={classes.title}>
            {kindTitle(kind)} ·{' '}
            <Anchor
              component={Link}
              href={domainPath('domain', domain)}
              inherit
              underline="always"
              className="break whole"
            >
              {domain}
            </Anchor>
          </h2>
        </Group>
        <Duration incident={incident} />
        <Text size="sm" className="break">
          {summary}
        </Text>
        {changes.length > 0 && (
          <Note size="sm">
            What changed before:{' '}
            {changes.map(({ what, at }, place) => (
              <span key={`${what} ${at}`}>
                {place > 0 && ', '}
                {CHANGES[what]} <TimeText at={at} />
              </span>
            ))}
          </Note>
        )}
        <Examples incident={incident} />
        {state === 'open' && (
          <Group gap="sm" align="end" justify="space-between">
            <May action="listRenders">
              <Text size="sm" flex={1} miw={220} className="break">
                <strong>What to do:</strong> {evidence.advice}
              </Text>
            </May>
            <ActionButton kind={kind} domain={domain} />
          </Group>
        )}
        <Acknowledgement incident={incident} />
      </Stack>
    </article>
  )
}

const CHANGES: Record<Incident['evidence']['changes'][number]['what'], string> = {
  deploy: 'a deploy',
  settings: 'the settings of the site',
  certificate: 'the certificate',
  dns: 'the DNS',
}

/** Earlier versions recorded what changed after the problem began, too. That cannot be its cause. */
function changesBefore(changes: Incident['evidence']['changes'] | undefined, since: string) {
  // Clients do not see what was changed.
  return (changes ?? []).filter(({ at }) => Date.parse(at) <= Date.parse(since))
}

function Duration({ incident: { state, since, resolved_at: endedAt, resolution } }: { incident: Incident }) {
  if (state === 'open' || endedAt === null) {
    return (
      <Note size="sm">
        Open, began <TimeText at={since} />
      </Note>
    )
  }
  const seconds = (Date.parse(endedAt) - Date.parse(since)) / 1_000
  const why = resolution === 'inactive' ? ', when the domain was paused' : ''
  return (
    <Note size="sm">
      Resolved <TimeText at={endedAt} />
      {why}, after {duration(seconds)}
    </Note>
  )
}

function Examples({ incident }: { incident: Incident }) {
  const { domain, evidence } = incident
  if (evidence.pages.length === 0) return null
  return (
    <List size="sm">
      {evidence.pages.map(({ path, outcome, detail }) => (
        <List.Item key={path} className="break">
          <Anchor component={Link} href={pagePath(domain, path)} size="sm" underline="always">
            {path}
          </Anchor>
          : {outcomeWords(outcome)}
          {detailWords(outcome, detail) !== '' && ` (${detail})`}
        </List.Item>
      ))}
      <PagesOfKind incident={incident} />
    </List>
  )
}

/** The stored pages whose last render ended as the incident says. */
function PagesOfKind({ incident: { kind, domain } }: { incident: Incident }) {
  const outcomes = kind in OUTCOMES_OF ? OUTCOMES_OF[kind as keyof typeof OUTCOMES_OF] : undefined
  if (outcomes === undefined) return null
  const outcome = outcomes.join()
  return (
    <List.Item>
      <Anchor component={Link} href={filteredPagesPath(domain, { outcome })} size="sm" underline="always">
        Stored pages whose last render failed in this way
      </Anchor>
    </List.Item>
  )
}

type Shown = { label: string; to: (domain: string) => string }

const OVERVIEW = (domain: string) => domainPath('domain', domain)
const TRAFFIC = (domain: string) => domainPath('domainTraffic', domain)
const renders = (outcomes: readonly string[], label: string): Shown => ({
  label,
  to: (domain) => rendersPath(domain, outcomes.join()),
})

/** Kinds that are about renders, and how these ended. */
const OUTCOMES_OF = {
  origin_unreachable: ['origin-unreachable', 'timed-out'],
  renders_failing: FAILED_OUTCOMES,
  blocked: ['challenge'],
  pages_shrinking: ['shrunk'],
} satisfies Partial<Record<IncidentKind, readonly string[]>>

/** The screen where each kind is seen, filtered by what it is about. */
const ACTIONS: Record<IncidentKind, Shown> = {
  origin_unreachable: renders(OUTCOMES_OF.origin_unreachable, 'Show the failed renders'),
  renders_failing: renders(OUTCOMES_OF.renders_failing, 'Show the failed renders'),
  blocked: renders(OUTCOMES_OF.blocked, 'Show the blocked renders'),
  pages_shrinking: renders(OUTCOMES_OF.pages_shrinking, 'Show the renders with less text'),
  certificate_failing: { label: 'Show the certificate', to: OVERVIEW },
  dns_lost: { label: 'Show the DNS records', to: OVERVIEW },
  integration_refused: { label: 'Show the installation', to: OVERVIEW },
  quota_forecast: { label: 'Show the renders of the month', to: TRAFFIC },
  quota_reached: { label: 'Show the renders of the month', to: TRAFFIC },
  crawlers_gone: { label: 'Show the traffic', to: TRAFFIC },
}

function ActionButton({ kind, domain }: { kind: IncidentKind; domain: string }) {
  const may = useRights()
  const { label, to } = ACTIONS[kind]
  const href = to(domain)
  // Clients see no renders, and neither certificate nor DNS.
  if (!may('listRenders') && href !== TRAFFIC(domain)) return null
  return (
    <Button component={Link} href={href} size="sm">
      {label}
    </Button>
  )
}

function Acknowledgement({ incident }: { incident: Incident }) {
  const { acknowledged, state } = incident
  const [isAsking, setAsking] = useState(false)
  const change = useAcknowledge(incident.id)
  // Clients do not see who takes care of it.
  if (acknowledged === undefined) return null
  if (acknowledged === null) {
    if (state !== 'open') return null
    return (
      <May action="updateIncident">
        <Group justify="end">
          <Button variant="default" size="xs" onClick={() => setAsking(true)}>
            Acknowledge
          </Button>
        </Group>
        {isAsking && <AcknowledgeDialog id={incident.id} onClose={() => setAsking(false)} />}
      </May>
    )
  }
  return (
    <Group justify="space-between" gap="sm" className={classes.acknowledged}>
      <Note size="sm" className="break">
        Acknowledged by {acknowledged.by}, <TimeText at={acknowledged.at} />
        {acknowledged.note !== null && <span className={classes.note}>{acknowledged.note}</span>}
      </Note>
      <May action="updateIncident">
        <Button
          variant="default"
          size="xs"
          loading={change.isPending}
          onClick={() =>
            change.mutate(
              { acknowledged: false },
              { onError: (error) => notifyFailed('It stays acknowledged', error) },
            )
          }
        >
          Take back
        </Button>
      </May>
    </Group>
  )
}

function useAcknowledge(id: number) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (body: { acknowledged: boolean; note?: string }) =>
      request<{ incident: Incident }>('PUT', `/api/incidents/${id}`, { body }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['incidents'] })
      await queries.invalidateQueries({ queryKey: ['portfolio'] })
    },
  })
}

function AcknowledgeDialog({ id, onClose }: { id: number; onClose: () => void }) {
  const acknowledge = useAcknowledge(id)
  const form = useForm({ initialValues: { note: '' } })
  const submit = ({ note }: { note: string }) =>
    acknowledge.mutate({ acknowledged: true, note: note.trim() }, { onSuccess: onClose })
  return (
    <FormDialog
      title="Acknowledge the incident"
      label="Acknowledge"
      sent={acknowledge}
      onSubmit={form.onSubmit(submit)}
      onClose={onClose}
    >
      <Text size="sm">
        Members see that you take care of it. No reminders are sent any more; the incident stays open until
        the problem ends.
      </Text>
      <Textarea
        label="Note"
        description={`For other members, at most ${NOTE_LIMIT_CHARS} characters. Ctrl Enter sends it.`}
        maxLength={NOTE_LIMIT_CHARS}
        autosize
        minRows={2}
        data-autofocus
        {...form.getInputProps('note')}
      />
    </FormDialog>
  )
}
