import { afterEach, expect } from 'vitest'
import { GoogleDriveStandIn } from '../support/google-drive-stand-in.ts'
import { OneDriveStandIn } from '../support/onedrive-stand-in.ts'
import type { ScriptedProvider } from '../support/scripted.ts'
import { Wire } from '../support/wire.ts'
import { faultSuite } from './fault-suite.ts'
import { destinationSuite, type Rig } from './suite.ts'

const standIns: ScriptedProvider[] = []
const kept = <T extends ScriptedProvider>(standIn: T): T => {
  standIns.push(standIn)
  return standIn
}
afterEach(() => expect(standIns.flatMap(({ undocumented }) => undocumented)).toEqual([]))

const rigOf = (standIn: ScriptedProvider): (() => Rig) => {
  const wire = new Wire(kept(standIn))
  const typeOf = async (path: string) => standIn.objects().find((object) => object.path === path)?.content_type ?? null
  return () => ({ open: (knowledge) => wire.open(knowledge), typeOf })
}

const withKey = new GoogleDriveStandIn()
await withKey.makeKey()
withKey.driveId = '0AShared'
destinationSuite('Google Drive, on a shared drive with a service account', rigOf(withKey))
destinationSuite('Google Drive, in a folder of a user', rigOf(new GoogleDriveStandIn()))
destinationSuite('OneDrive', rigOf(new OneDriveStandIn()))

faultSuite('Google Drive', async () => kept(new GoogleDriveStandIn()))
faultSuite('OneDrive', async () => kept(new OneDriveStandIn()))
