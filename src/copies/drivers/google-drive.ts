import { OneByOne } from '../../platform/one-by-one.ts'
import type { Network } from './call.ts'
import { unexpected } from './faults.ts'
import { GoogleDriveApi, type GoogleDriveSpec } from './google-drive-api.ts'
import { GoogleDriveFolders, markOf, splitPath } from './google-drive-folders.ts'
import { uploadFile } from './google-drive-upload.ts'
import { type Destination, DestinationError, type StoredObject } from './port.ts'

/**
 * A folder of Google Drive (version 3 of its API). Drive knows ids and no paths, and a name may occur twice in a folder. That one path is
 * one file nevertheless follows from four rules: a folder is read before anything is created in it; a file is created under an id that
 * Google made before, so that a repetition after a lost answer is refused (409) and becomes an update; operations on one path wait for
 * each other; and a file that was created twice all the same, by two processes at once, loses its younger copy when the folder is read
 * again.
 */
export function googleDrive(network: Network, { config, credentials }: GoogleDriveSpec): Destination {
  const api = new GoogleDriveApi(network, credentials)
  const folders = new GoogleDriveFolders(api, config.folder_id)
  const oneByOne = new OneByOne()
  /** Ids of files whose creation was not confirmed, by path. */
  const unconfirmed = new Map<string, string>()

  /** Runs after what was begun for the same path. What is gone although it was read is looked for once more. */
  const inTurn = <T>(path: string, run: () => Promise<T>): Promise<T> =>
    oneByOne.do(path, () =>
      run().catch((error) => {
        if (!(error instanceof DestinationError && error.code === 'not_found')) throw error
        folders.forget()
        unconfirmed.delete(path)
        return run()
      }),
    )

  async function replace(id: string, object: StoredObject): Promise<void> {
    api.confirm(await uploadFile(api, { replaced: id }, object))
  }

  async function putNow(path: string, object: StoredObject): Promise<void> {
    const [folderPath, name] = splitPath(path)
    const folder = await folders.create(folderPath)
    const known = await folders.fileOf(folder, name)
    if (known !== null) return replace(known, object)
    const id = unconfirmed.get(path) ?? (await api.newId())
    unconfirmed.set(path, id)
    const created = { id, name, parents: [folder.id], mimeType: object.content_type, appProperties: await markOf(path) }
    const answer = await uploadFile(api, { created }, object)
    if (answer.status === 409) await replace(id, object)
    else api.confirm(answer)
    unconfirmed.delete(path)
    folder.files.set(name, id)
  }

  async function readNow(path: string): Promise<Uint8Array | null> {
    const [folderPath, name] = splitPath(path)
    const folder = await folders.find(folderPath)
    const id = folder && (await folders.fileOf(folder, name))
    if (id === null) return null
    const { sha256Checksum } = await api.json('GET', `/drive/v3/files/${id}`, { fields: 'id,sha256Checksum' })
    const answer = await api.call('GET', `/drive/v3/files/${id}`, { alt: 'media' })
    if (answer.status !== 200) throw api.errorOf(answer)
    if (sha256Checksum !== new Uint8Array(await crypto.subtle.digest('SHA-256', answer.body)).toHex()) throw unexpected(answer)
    return answer.body
  }

  /** Into the trash, because deleting for good takes more rights in a shared drive. */
  async function removeNow(path: string): Promise<void> {
    const [folderPath, name] = splitPath(path)
    const folder = await folders.find(folderPath)
    const id = folder && (await folders.fileOf(folder, name))
    if (folder === null || id === null) return
    await folders.trash(id)
    folder.files.delete(name)
  }

  return {
    put: (path, object) => inTurn(path, () => putNow(path, object)),
    read: (path) => inTurn(path, () => readNow(path)),
    remove: (path) => inTurn(path, () => removeNow(path)),
  }
}
