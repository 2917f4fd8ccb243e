import { Button, Group } from '@mantine/core'
import type { ReactNode } from 'react'

type ListInPages = { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): unknown }

/** Loads the next part of a list. `children`: what the button says. Nothing, if the list is whole. */
export function ShowMore({ list, children }: { list: ListInPages; children: ReactNode }) {
  if (!list.hasNextPage) return null
  return (
    <Group justify="center">
      <Button variant="default" loading={list.isFetchingNextPage} onClick={() => list.fetchNextPage()}>
        {children}
      </Button>
    </Group>
  )
}
