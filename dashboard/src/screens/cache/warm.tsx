import { Alert, Button, Checkbox, Group, Progress, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { domainUrl, warmQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Warm } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { sayDone, sayFailed } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Trouble } from '../../parts/states.tsx'
import { warmHead, warmNotes, warmPercent, warmPlan } from './warm-progress.ts'

/** Warms the cache, and shows how far that is. */
export function WarmCard({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const found = useQuery(warmQuery(name))
  const [isAsking, setAsking] = useState<'start' | 'cancel' | null>(null)
  const [isOutdatedOnly, setOutdatedOnly] = useState(true)
  const take = ({ warm }: { warm: Warm | null }) => queries.setQueryData(warmQuery(name).queryKey, warm)
  const url = `${domainUrl(name)}/warm`
  const pause = useMutation({
    mutationFn: (paused: boolean) => request<{ warm: Warm }>('PUT', url, { body: { paused } }),
    onSuccess: take,
    onError: (error) => sayFailed('Nothing was changed', error),
  })

  const warm = found.data ?? null
  const isUnderWay = warm !== null && warm.ended_at === null
  const isPaused = isUnderWay && warm.paused_at !== null
  const room = Math.max(0, domain.monthly_render_limit - domain.renders_used)
  return (
    <Section
      title="Warm"
      lead="Renders the pages that are known before crawlers ask for them. Nothing is deleted."
      actions={
        isUnderWay ? (
          <>
            <Button variant="default" loading={pause.isPending} onClick={() => pause.mutate(!isPaused)}>
              {isPaused ? 'Resume' : 'Pause'}
            </Button>
            <Button variant="default" onClick={() => setAsking('cancel')}>
              Cancel
            </Button>
          </>
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
      {found.data === undefined && found.error !== null && (
        <Trouble error={found.error} onRetry={() => found.refetch()} />
      )}
      {warm !== null && <WarmProgress warm={warm} />}
      {found.data === null && (
        <Text size="sm" className="quiet">
          Not done yet. Known are pages that are stored, that crawlers asked for in the last 30 days, and
          those of the sitemaps.
        </Text>
      )}
      {isAsking === 'start' && (
        <ConfirmDialog
          title={`Warm the cache of ${name}?`}
          label="Warm"
          isHarmless
          onClose={() => setAsking(null)}
          run={async () => {
            const which = isOutdatedOnly ? 'outdated' : 'all'
            take(await request<{ warm: Warm }>('POST', url, { body: { which } }))
            sayDone(`The cache of ${name} is being warmed`)
          }}
        >
          <Stack>
            <Text size="sm">{warmPlan(room)}</Text>
            <Checkbox
              label="Only what is missing or outdated"
              description="Not stored, stale, or older than its sitemap says"
              checked={isOutdatedOnly}
              onChange={(event) => setOutdatedOnly(event.currentTarget.checked)}
            />
          </Stack>
        </ConfirmDialog>
      )}
      {isAsking === 'cancel' && (
        <ConfirmDialog
          title="Cancel this warm?"
          label="Cancel the warm"
          onClose={() => setAsking(null)}
          run={async () => take(await request<{ warm: Warm }>('DELETE', url))}
        >
          <Text size="sm">
            Pages that were rendered stay. The others are rendered when crawlers ask for them.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

function WarmProgress({ warm }: { warm: Warm }) {
  const percent = warmPercent(warm)
  const head = warmHead(warm)
  const notes = warmNotes(warm)
  const isTrouble = warm.state === 'failed' || warm.reason === 'over-quota'
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
            {...(percent === null && { striped: true })}
            aria-label={`Warm: ${head}`}
          />
        </Progress.Root>
      )}
      {notes.length > 0 && (
        <Text size="sm" className="quiet number">
          {notes.join(' · ')}
        </Text>
      )}
      {isTrouble && warm.reason !== null && (
        <Alert color="yellow">
          {warm.reason === 'over-quota'
            ? 'The renders of this month are used up as far as warms may use them. What is left is for crawlers. Resume it next month, or with a larger plan.'
            : warm.reason}
        </Alert>
      )}
      {warm.sitemaps.failures.length > 0 && (
        <Group gap="xs">
          <Text size="sm" className="break">
            Sitemaps that could not be read:{' '}
            {warm.sitemaps.failures.map(({ path, reason }) => `${path} (${reason})`).join(', ')}
          </Text>
        </Group>
      )}
    </Stack>
  )
}
