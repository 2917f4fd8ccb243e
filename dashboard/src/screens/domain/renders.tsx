import { Anchor, Button, Stack, Table, Text, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import { rendersQuery } from '../../api/queries.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { OutcomeBadge } from '../../parts/badges.tsx'
import { Empty, Loading, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { pagePath } from '../../route-map.ts'
import { RenderRecord } from './render-record.tsx'

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
            <Table verticalSpacing="xs" horizontalSpacing="md" fz="sm" className="stacking stacking-lines">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Path</Table.Th>
                  <Table.Th>Outcome</Table.Th>
                  <Table.Th>When</Table.Th>
                  <Table.Th>Took</Table.Th>
                  <Table.Th>
                    <VisuallyHidden>Actions</VisuallyHidden>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {renders.data.map((render) => {
                  const id = `${render.jobId} ${render.ended_at}`
                  const isOpen = open === id
                  return (
                    <Fragment key={id}>
                      <Table.Tr>
                        <Table.Td className="break">
                          <Anchor
                            component={Link}
                            href={pagePath(domain.custom_domain, render.path)}
                            size="sm"
                          >
                            {render.path}
                          </Anchor>
                        </Table.Td>
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
