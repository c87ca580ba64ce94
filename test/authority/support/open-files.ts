import { type Efirma, type EfirmaInput, openEfirma, readEfirma } from '../../../src/authority/efirma/efirma.ts'

/** Reads the files of an e.firma and opens it. */
export const openFiles = async (files: EfirmaInput, rfc: string, now: Date): Promise<Efirma> => openEfirma(readEfirma(files, rfc, now))
