import { Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTitle } from '../parts/page.tsx'
import classes from './frame.module.css'
import { SchemeToggle } from './scheme-toggle.tsx'
import { Wordmark } from './wordmark.tsx'

/** The frame of screens for whoever is not signed in. */
export function Door({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  useTitle(title)
  return (
    <main className={classes.door}>
      <div className={classes.head}>
        <Wordmark />
        <SchemeToggle />
      </div>
      <div className={`sheet ${classes.card}`}>
        <Stack gap="lg">
          <Stack gap={4}>
            <Title order={1} size="h3">
              {title}
            </Title>
            {lead !== undefined && (
              <Text className="quiet" size="sm">
                {lead}
              </Text>
            )}
          </Stack>
          {children}
        </Stack>
      </div>
    </main>
  )
}
