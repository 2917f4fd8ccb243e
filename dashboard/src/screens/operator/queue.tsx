import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { fleetQueueQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { FleetQueue } from '../../api/types.ts'
import { count, duration } from '../../format.ts'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'

type Running = FleetQueue['running'][number]

const PRIORITIES: Record<Running['priority'], { label: string; meaning: string }> = {
  live: { label: 'Live', meaning: 'A crawler is waiting' },
  refresh: { label: 'Refresh', meaning: 'API, webhooks, stale pages' },
  warm: { label: 'Warm', meaning: 'Whole sites' },
}

/** The server counts no further. */
const MAX_COUNTED = 100_000

export default function Queue() {
  const queue = useQuery(fleetQueueQuery)
  return (
    <Page
      title="Queue"
      lead="Queued and running renders of all accounts. Live runs before refresh, refresh before warm; domains take turns."
    >
      <Loaded query={queue}>
        {({ priorities, running, waiting, tasks }) => (
          <Stack gap="lg">
            <Priorities priorities={priorities} />
            <RunningJobs jobs={running} onCancelled={queue.refetch} />
            <WaitingDomains domains={waiting} />
            <BackgroundTasks kinds={tasks} />
          </Stack>
        )}
      </Loaded>
    </Page>
  )
}

function Priorities({ priorities }: { priorities: FleetQueue['priorities'] }) {
  return (
    <div className="columns columns-narrow">
      {priorities.map(({ priority, queued, oldest_seconds }) => (
        <section key={priority} className="sheet" aria-label={PRIORITIES[priority].label}>
          <Text fw={600}>{PRIORITIES[priority].label}</Text>
          <Note size="sm">{PRIORITIES[priority].meaning}</Note>
          <Text size="xl" fw={600} className="number" mt="xs">
            {count(queued)}
            {queued >= MAX_COUNTED ? ' or more' : ''} queued
          </Text>
          <Note size="sm">
            {queued === 0 ? 'Nothing is waiting' : `The oldest for ${duration(oldest_seconds)}`}
          </Note>
        </section>
      ))}
    </div>
  )
}

function RunningJobs({ jobs, onCancelled }: { jobs: readonly Running[]; onCancelled: () => unknown }) {
  const [cancelling, setCancelling] = useState<Running | null>(null)
  return (
    <Section title="Running" lead={jobs.length === 0 ? 'No render is running.' : undefined}>
      {jobs.length > 0 && (
        <DataTable
          rows={jobs}
          keyOf={({ jobId }) => jobId}
          columns={[
            {
              title: 'Page',
              cell: ({ domain, path, attempts }) => (
                <>
                  <Text size="sm" className="break">
                    {domain}
                    {path}
                  </Text>
                  {attempts > 1 && <Note>attempt {attempts}</Note>}
                </>
              ),
            },
            { title: 'Priority', kind: 'labelled', cell: ({ priority }) => PRIORITIES[priority].label },
            {
              title: 'Node',
              kind: 'labelled',
              className: 'break',
              cell: ({ node }) => <span title={node}>{hostAndProcess(node)}</span>,
            },
            { title: 'For', kind: 'number', cell: ({ running_seconds }) => duration(running_seconds) },
            {
              title: 'Actions',
              kind: 'action',
              cell: (job) => (
                <RowButton
                  label="Cancel"
                  subject={`${job.domain}${job.path}`}
                  onClick={() => setCancelling(job)}
                />
              ),
            },
          ]}
        />
      )}
      {cancelling !== null && (
        <ConfirmDialog
          title="Cancel this render?"
          label="Cancel the render"
          onClose={() => setCancelling(null)}
          run={async () => {
            await request('DELETE', `/api/operator/jobs/${cancelling.jobId}`)
            notifyDone('The render was cancelled')
            await onCancelled()
          }}
        >
          <Text size="sm" className="break">
            The result of {cancelling.domain}
            {cancelling.path} is dropped. A crawler that waits for it gets the cached page, or the origin if
            the page is not cached.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

/** A node's id without the part that changes with each restart. */
function hostAndProcess(node: string): string {
  return node.split(':').slice(0, 2).join(':')
}

function WaitingDomains({ domains }: { domains: FleetQueue['waiting'] }) {
  return (
    <Section
      title="Waiting longest"
      lead={
        domains.length === 0 ? 'No domain has queued renders.' : 'Domains by the age of their oldest job.'
      }
    >
      {domains.length > 0 && (
        <DataTable
          rows={domains}
          keyOf={({ domain }) => domain}
          columns={[
            { title: 'Domain', className: 'break', cell: ({ domain }) => domain },
            {
              title: 'Highest priority',
              kind: 'labelled',
              cell: ({ priority }) => PRIORITIES[priority].label,
            },
            { title: 'Jobs', kind: 'number', cell: ({ queued }) => count(queued) },
            {
              title: 'Waiting for',
              kind: 'number',
              cell: ({ waiting_seconds }) => duration(waiting_seconds),
            },
          ]}
        />
      )}
    </Section>
  )
}

function BackgroundTasks({ kinds }: { kinds: FleetQueue['tasks'] }) {
  return (
    <Section
      title="Background tasks"
      lead="Work beside the renders, by kind. Failed tasks are retried with back-off."
    >
      {kinds.length > 0 && (
        <DataTable
          rows={kinds}
          keyOf={({ kind }) => kind}
          columns={[
            { title: 'Kind', cell: ({ kind }) => kind },
            { title: 'Waiting', kind: 'number', cell: ({ waiting }) => count(waiting) },
            { title: 'Running', kind: 'number', cell: ({ running }) => count(running) },
            { title: 'Failing', kind: 'number', cell: ({ failing }) => count(failing) },
            {
              title: 'Oldest waits for',
              kind: 'number',
              cell: ({ waiting, oldest_seconds }) => (waiting === 0 ? '' : duration(oldest_seconds)),
            },
          ]}
        />
      )}
    </Section>
  )
}
