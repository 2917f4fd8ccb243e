import { Alert, Anchor, Button, Checkbox, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'

import { domainUrl, warmQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Warm } from '../../api/types.ts'
import { useAddressed } from '../../parts/addressed.ts'
import { FAILED_OUTCOMES } from '../../parts/badges.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Trouble } from '../../parts/states.tsx'
import { rendersPath } from '../../route-map.ts'
import { warmCost, warmHead, warmNotes, warmPercent } from './warm-progress.ts'

export function WarmSection({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const found = useQuery(warmQuery(name))
  const [isAsking, setAsking] = useState<'start' | 'cancel' | null>(null)
  useAddressed('warm', () => domain.is_active && setAsking('start'))
  const url = `${domainUrl(name)}/warm`
  const show = ({ warm }: { warm: Warm | null }) => queries.setQueryData(warmQuery(name).queryKey, warm)
  const pause = useMutation({
    mutationFn: (paused: boolean) => request<{ warm: Warm }>('PUT', url, { body: { paused } }),
    onSuccess: show,
    onError: (error) => notifyFailed('Warming continues as before', error),
  })

  const warm = found.data ?? null
  const isRunning = warm !== null && warm.ended_at === null
  const isPaused = isRunning && warm.paused_at !== null
  return (
    <Section
      title="Warm"
      lead="Render known pages before crawlers request them. Nothing is deleted."
      actions={
        isRunning ? (
          <RunningButtons
            isPaused={isPaused}
            isPausing={pause.isPending}
            onPause={() => pause.mutate(!isPaused)}
            onCancel={() => setAsking('cancel')}
          />
        ) : (
          <Button
            variant="default"
            disabled={!domain.is_active || found.data === undefined}
            onClick={() => setAsking('start')}
          >
            Warm the cache
          </Button>
        )
      }
    >
      {found.data === undefined && found.error !== null && <Trouble query={found} />}
      {warm !== null && <WarmProgress domain={domain.custom_domain} warm={warm} />}
      {found.data === null && (
        <Note size="sm">
          Never run. The progress appears here. Known pages are those in the cache, in the sitemaps, and
          requested by crawlers in the last 30 days.
        </Note>
      )}
      {isAsking === 'start' && (
        <StartWarm domain={domain} url={url} onClose={() => setAsking(null)} onStarted={show} />
      )}
      {isAsking === 'cancel' && (
        <ConfirmDialog
          title="Cancel warming?"
          label="Cancel warming"
          onClose={() => setAsking(null)}
          run={async () => show(await request<{ warm: Warm }>('DELETE', url))}
        >
          <Text size="sm">
            Rendered pages stay cached. The others are rendered when crawlers request them.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

function RunningButtons(props: {
  isPaused: boolean
  isPausing: boolean
  onPause: () => void
  onCancel: () => void
}) {
  return (
    <>
      <Button variant="default" loading={props.isPausing} onClick={props.onPause}>
        {props.isPaused ? 'Resume' : 'Pause'}
      </Button>
      <Button variant="default" onClick={props.onCancel}>
        Cancel
      </Button>
    </>
  )
}

function StartWarm(props: {
  domain: DomainWithSettings
  url: string
  onClose: () => void
  onStarted: (answer: { warm: Warm }) => void
}) {
  const { custom_domain: name, monthly_render_limit, renders_used } = props.domain
  const [isOutdatedOnly, setOutdatedOnly] = useState(true)
  return (
    <ConfirmDialog
      title={`Warm the cache of ${name}?`}
      label="Warm"
      isHarmless
      onClose={props.onClose}
      run={async () => {
        const which = isOutdatedOnly ? 'outdated' : 'all'
        props.onStarted(await request<{ warm: Warm }>('POST', props.url, { body: { which } }))
        notifyDone(`Warming the cache of ${name}`)
      }}
    >
      <Stack>
        <Text size="sm">{warmCost(Math.max(0, monthly_render_limit - renders_used))}</Text>
        <Checkbox
          label="Only missing and outdated pages"
          description="Not cached, stale, or older than the sitemap says"
          checked={isOutdatedOnly}
          onChange={(event) => setOutdatedOnly(event.currentTarget.checked)}
        />
      </Stack>
    </ConfirmDialog>
  )
}

function WarmProgress({ warm, domain }: { warm: Warm; domain: string }) {
  const percent = warmPercent(warm)
  const head = warmHead(warm)
  const notes = warmNotes(warm)
  const hasStopped = warm.state === 'failed' || warm.reason === 'over-quota'
  return (
    <Stack gap="xs">
      <Text size="sm" className="number" role="status">
        {head}
      </Text>
      {warm.ended_at === null && (
        <Progress.Root size="sm">
          <Progress.Section
            value={percent ?? 100}
            color={warm.paused_at === null ? 'paint' : 'gray'}
            striped={percent === null}
            aria-label={`Warm: ${head}`}
          />
        </Progress.Root>
      )}
      {notes.length > 0 && (
        <Note size="sm" className="number">
          {notes.join(' · ')}
        </Note>
      )}
      {warm.failed > 0 && (
        <Anchor
          component={Link}
          href={rendersPath(domain, FAILED_OUTCOMES.join(), { priority: 'warm' })}
          size="sm"
        >
          Show the failed renders
        </Anchor>
      )}
      {hasStopped && warm.reason !== null && <Alert color="yellow">{stopText(warm.reason)}</Alert>}
      {warm.sitemaps.failures.length > 0 && (
        <Text size="sm" className="break">
          Sitemaps that could not be read:{' '}
          {warm.sitemaps.failures.map(({ path, reason }) => `${path} (${reason})`).join(', ')}
        </Text>
      )}
    </Stack>
  )
}

function stopText(reason: string): string {
  if (reason !== 'over-quota') return reason
  return 'Warming has used its share of the renders of this month; the rest is reserved for crawlers. Warm again next month, or with a larger plan.'
}
