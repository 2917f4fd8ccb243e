import { Button, Stack, Table, Text, VisuallyHidden } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { fleetQueueQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { FleetQueue } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { duration } from '../../parts/duration.ts'
import { sayDone } from '../../parts/notifications.tsx'
import { Page, Section } from '../../parts/page.tsx'
import { Loading, Trouble } from '../../parts/states.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { OnlyOperators } from './only-operators.tsx'

type Running = FleetQueue['running'][number]

const PRIORITIES = {
  live: { label: 'Live', words: 'A crawler waits' },
  refresh: { label: 'Refresh', words: 'API, webhooks, stale pages' },
  warm: { label: 'Warm', words: 'All of a site' },
} as const

export function Queue() {
  return (
    <OnlyOperators>
      <QueueNow />
    </OnlyOperators>
  )
}

function QueueNow() {
  const queue = useQuery(fleetQueueQuery)
  return (
    <Page
      title="Queue"
      lead="Renders of all accounts that wait or run. Live before refresh before warm; domains take turns."
    >
      {queue.data === undefined ? (
        queue.error === null ? (
          <Loading />
        ) : (
          <Trouble error={queue.error} onRetry={() => queue.refetch()} />
        )
      ) : (
        <Stack gap="lg">
          <Waiting queue={queue.data} />
          <RunningJobs jobs={queue.data.running} />
          <Longest domains={queue.data.waiting} />
        </Stack>
      )}
    </Page>
  )
}

function Waiting({ queue: { priorities } }: { queue: FleetQueue }) {
  return (
    <div className="columns columns-narrow">
      {priorities.map(({ priority, queued, oldest_seconds }) => (
        <section key={priority} className="sheet" aria-label={PRIORITIES[priority].label}>
          <Text fw={600}>{PRIORITIES[priority].label}</Text>
          <Text size="sm" className="quiet">
            {PRIORITIES[priority].words}
          </Text>
          <Text size="xl" fw={650} className="number" mt="xs">
            {count(queued)}
            {queued >= 100_000 ? ' or more' : ''} waiting
          </Text>
          <Text size="sm" className="quiet">
            {queued === 0 ? 'Nothing waits' : `The first for ${duration(oldest_seconds)}`}
          </Text>
        </section>
      ))}
    </div>
  )
}

function RunningJobs({ jobs }: { jobs: readonly Running[] }) {
  const queries = useQueryClient()
  const [cancelled, setCancelled] = useState<Running | null>(null)
  return (
    <Section title="Running" lead={jobs.length === 0 ? 'Nothing is rendered at this moment.' : undefined}>
      {jobs.length > 0 && (
        <div className="scroll-x">
          <Table verticalSpacing="xs" horizontalSpacing="md" fz="sm" className="stacking">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Page</Table.Th>
                <Table.Th>Priority</Table.Th>
                <Table.Th>Node</Table.Th>
                <Table.Th className="end">For</Table.Th>
                <Table.Th>
                  <VisuallyHidden>Actions</VisuallyHidden>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {jobs.map((job) => (
                <Table.Tr key={job.jobId}>
                  <Table.Td>
                    <Text size="sm" className="break">
                      {job.domain}
                      {job.path}
                    </Text>
                    {job.attempts > 1 && (
                      <Text size="xs" className="quiet">
                        attempt {job.attempts}
                      </Text>
                    )}
                  </Table.Td>
                  <Table.Td data-label="Priority">{PRIORITIES[job.priority].label}</Table.Td>
                  <Table.Td data-label="Node" className="break" title={job.node}>
                    {placeOf(job.node)}
                  </Table.Td>
                  <Table.Td className="number end" data-label="For">
                    {duration(job.running_seconds)}
                  </Table.Td>
                  <Table.Td className="end">
                    <Button
                      size="compact-sm"
                      variant="default"
                      aria-label={`Cancel ${job.domain}${job.path}`}
                      onClick={() => setCancelled(job)}
                    >
                      Cancel
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
      {cancelled !== null && (
        <ConfirmDialog
          title="Cancel this render?"
          label="Cancel the render"
          onClose={() => setCancelled(null)}
          run={async () => {
            await request('DELETE', `/api/operator/jobs/${cancelled.jobId}`)
            sayDone('Cancelled')
            await queries.invalidateQueries({ queryKey: fleetQueueQuery.queryKey })
          }}
        >
          <Text size="sm" className="break">
            What {cancelled.domain}
            {cancelled.path} brings is dropped; a crawler that waits for it gets what is stored, else the
            origin.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

/** Host and process, without what tells its runs apart. */
function placeOf(node: string): string {
  return node.split(':').slice(0, 2).join(':')
}

function Longest({ domains }: { domains: FleetQueue['waiting'] }) {
  return (
    <Section
      title="Waiting longest"
      lead={domains.length === 0 ? 'No domain waits.' : 'Domains by how long their first job has waited.'}
    >
      {domains.length > 0 && (
        <Table verticalSpacing="xs" horizontalSpacing="md" fz="sm" className="stacking">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Domain</Table.Th>
              <Table.Th>Highest priority</Table.Th>
              <Table.Th className="end">Jobs</Table.Th>
              <Table.Th className="end">For</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {domains.map(({ domain, priority, queued, waiting_seconds }) => (
              <Table.Tr key={domain}>
                <Table.Td className="break">{domain}</Table.Td>
                <Table.Td data-label="Highest priority">{PRIORITIES[priority].label}</Table.Td>
                <Table.Td className="number end" data-label="Jobs">
                  {count(queued)}
                </Table.Td>
                <Table.Td className="number end" data-label="For">
                  {duration(waiting_seconds)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  )
}
