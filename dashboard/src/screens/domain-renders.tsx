import { Button, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'

import type { DomainWithSettings, Render } from '../api-types.ts'
import { OutcomeBadge } from '../parts/outcome-badge.tsx'
import { count } from '../parts/quota-bar.tsx'
import { Empty, Loading, Trouble } from '../parts/states.tsx'
import { TimeText } from '../parts/time-text.tsx'
import { rendersQuery } from '../queries.ts'

const CAPTURES: Record<string, string> = {
  'ready-signal': 'the page said that it was ready',
  budget: 'its timers had been run',
  idle: 'nothing more was under way',
  cap: 'its time was up',
}

export function DomainRenders({ domain }: { domain: DomainWithSettings }) {
  const renders = useQuery(rendersQuery(domain.custom_domain))
  const [open, setOpen] = useState<string | null>(null)
  if (renders.data === undefined) {
    return renders.error === null ? (
      <Loading rows={6} />
    ) : (
      <Trouble error={renders.error} onRetry={() => renders.refetch()} />
    )
  }
  return (
    <Stack>
      <Text size="sm" className="quiet">
        The last 50 renders, the newest first; kept for a week, 20 of each page.
      </Text>
      <div className="sheet sheet-flush">
        {renders.data.length === 0 ? (
          <Empty title="Nothing was rendered in the last week">
            A page is rendered when a crawler asks for one that is not stored, and when you refresh it.
          </Empty>
        ) : (
          <div className="scroll-x">
            <Table verticalSpacing="xs" horizontalSpacing="md" fz="sm" className="stacking">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Path</Table.Th>
                  <Table.Th>Outcome</Table.Th>
                  <Table.Th>When</Table.Th>
                  <Table.Th>Took</Table.Th>
                  <Table.Th />
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {renders.data.map((render) => {
                  const id = `${render.jobId} ${render.ended_at}`
                  const isOpen = open === id
                  return (
                    <Fragment key={id}>
                      <Table.Tr>
                        <Table.Td className="break">{render.path}</Table.Td>
                        <Table.Td>
                          <OutcomeBadge outcome={render.outcome} />
                        </Table.Td>
                        <Table.Td>
                          <TimeText at={render.ended_at} />
                        </Table.Td>
                        <Table.Td className="number" data-label="Took">
                          {count(render.stored_ms)} ms
                        </Table.Td>
                        <Table.Td className="end">
                          <Button
                            size="compact-xs"
                            variant="subtle"
                            aria-expanded={isOpen}
                            aria-label={`${isOpen ? 'Hide' : 'Show'} the record of ${render.path}`}
                            onClick={() => setOpen(isOpen ? null : id)}
                          >
                            {isOpen ? 'Hide' : 'Record'}
                          </Button>
                        </Table.Td>
                      </Table.Tr>
                      {isOpen && (
                        <Table.Tr>
                          <Table.Td colSpan={5}>
                            <RenderRecord render={render} />
                          </Table.Td>
                        </Table.Tr>
                      )}
                    </Fragment>
                  )
                })}
              </Table.Tbody>
            </Table>
          </div>
        )}
      </div>
    </Stack>
  )
}

function RenderRecord({ render }: { render: Render }) {
  const { record } = render
  const { requests, consoleErrors, phases } = record
  const reached = Object.entries(phases).flatMap(([phase, ms]) =>
    ms === null ? [] : `${phase} ${count(ms)} ms`,
  )
  return (
    <Stack gap="sm" py="xs">
      <dl className="facts">
        {render.detail !== null && (
          <>
            <dt>Why</dt>
            <dd>{render.detail}</dd>
          </>
        )}
        <dt>Captured</dt>
        <dd>{record.capture === null ? 'not' : `when ${CAPTURES[record.capture] ?? record.capture}`}</dd>
        <dt>Waited</dt>
        <dd>{count(render.queued_ms)} ms in the queue</dd>
        <dt>Phases</dt>
        <dd>{reached.join(', ')}</dd>
        <dt>Requests</dt>
        <dd>
          {count(requests.made)} made, {count(requests.spared)} pictures spared, {count(requests.blocked)}{' '}
          blocked, {count(requests.failed)} failed
        </dd>
        {record.htmlBytes !== null && (
          <>
            <dt>Size</dt>
            <dd>{count(record.htmlBytes)} bytes</dd>
          </>
        )}
      </dl>
      {record.troubles.length > 0 && (
        <div>
          <Text size="sm" fw={500}>
            Requests that were blocked or failed
          </Text>
          <pre className="code-block">
            {record.troubles.map(({ kind, url, reason }) => `${kind}: ${url} (${reason})`).join('\n')}
          </pre>
        </div>
      )}
      {consoleErrors.count > 0 && (
        <div>
          <Text size="sm" fw={500}>
            Errors on the console: {count(consoleErrors.count)}
          </Text>
          <pre className="code-block">{consoleErrors.texts.join('\n')}</pre>
        </div>
      )}
    </Stack>
  )
}
